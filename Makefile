# Every target sets up what it needs: on a fresh clone `make demo` or `make test` is the only command to type.

PYTHON ?= python3
TORCH  ?= torch==2.13.0
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# A second torch, for `make test-versions`: some gigabytes and minutes.
PYTHON_OLD ?= python3.10
TORCH_OLD  ?= torch==2.0.1
VENV_OLD   ?= .venv-2.0
READY_OLD  := $(VENV_OLD)/.ready

# For `make peers`: which of them (empty: all), and the Python that Shrink Ray needs.
PEERS        ?=
PEERS_PYTHON ?= python3.12

# Test files that run side by side.
WORKERS ?= 2

# What `make bench` runs: KINDS=exception,crash ONLY=name,name ARGS="--json out.json"
KINDS ?=
ONLY  ?=
ARGS  ?=

REPORT := $(BIN)/shrinkrepro report --force --environment short $(ARGS)

.PHONY: setup demo test test-versions check lint types imports format bench bench-injected bench-growth bench-batch batch-kills scale bench-breakdown bench-isolation peers bench-peers ablation golden catalogue earned corpus corpus-versions corpus-rebuild kill-test flaky examples test-browser hostile wheel check-cuda clean

setup: $(READY)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A torch that is there already (a nightly, a source build) stays: it may be the one under test.
$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=24"
	$(BIN)/python -c "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)" \
	    || $(BIN)/python -m pip install --quiet $(TORCH) numpy
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@

demo: $(READY)
	mkdir -p build
	$(BIN)/shrinkrepro reduce examples/pinn/poisson.py -o build/poisson_reduced.py --force $(ARGS)

# Files side by side: most of a test's time is a target's, and one file's tests share a pool. In the order of
# the folders, so that the long files (whole commands) do not come last. `make test-browser` has the browser's.
test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --ignore tests/browser $(ARGS)

$(READY_OLD):
	$(PYTHON_OLD) -m venv $(VENV_OLD)
	$(VENV_OLD)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH_OLD) "numpy<2"
	touch $@

# Not part of `make check`: bugs that one of two torches has and the other has not.
test-versions: $(READY) $(READY_OLD)
	SHRINKREPRO_OLD=$(abspath $(VENV_OLD))/bin/python $(BIN)/python -m pytest tests/versions $(ARGS)

check: lint types imports test

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m benchmarks $(if $(KINDS),--kinds $(KINDS)) $(if $(ONLY),--only $(ONLY)) $(ARGS)

# Bugs planted in torch from outside: a result must fail with its plant and pass without. ONLY=name,name ARGS="--budget 90s"
bench-injected: $(READY)
	$(BIN)/python -m benchmarks.injected $(if $(ONLY),--only $(ONLY)) $(ARGS)

# The same failures inside generated scripts of 100, 1,000 and 10,000 lines. ARGS="--only item --jobs 1"
bench-growth: $(READY)
	$(BIN)/python -m benchmarks.growth $(ARGS)

# Other reducers, each in an environment of its own below build/peers. Shrink Ray needs a Python 3.12, C-Vise apt.
peers: $(READY)
	PEERS_PYTHON=$(PEERS_PYTHON) $(BIN)/python -m benchmarks.peers --setup --peers "$(PEERS)"

# The same scripts, test and core for all of them; hours, but it goes on where it was stopped. Then docs/benchmarks.md.
# ONLY=name,name PEERS=shrinkray,cvise ARGS="--core 1 --first 10 --budget-fresh 300 --budget-served 120"
bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers --only "$(ONLY)" --peers "$(PEERS)" $(ARGS)
	$(BIN)/python -m benchmarks.peers.document

# Where a query's time goes, beside a bare fork and a bare loop; py-spy splits the host's part and draws build/flames.svg.
bench-breakdown: $(READY)
	mkdir -p build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check py-spy || true
	$(BIN)/python -m benchmarks.breakdown --flames build/flames.svg $(ARGS)

# Each strategy is left out in turn; hours, but it goes on where it was stopped. ARGS="--only vmap00 --jobs 1"
ablation: $(READY)
	mkdir -p build
	$(BIN)/python -m benchmarks.ablation --rows build/ablation.jsonl $(ARGS)

# 120 scripts of 20 bugs as one batch, against the truth and against one by one; hours. ARGS="--hosts 3 --real 2 --alone 4"
bench-batch: $(READY)
	$(BIN)/python -m benchmarks.batch $(ARGS)

# A worker, a node and the driver of a batch on Ray are killed; some twenty minutes. ARGS="--only vmap08,ad01"
batch-kills: $(READY)
	$(BIN)/python -m benchmarks.batch_kills $(ARGS)

# What a script costs on a worker, and docs/scale.md from it. ARGS="--rows FILE" makes only the page, --again measures anew.
scale: $(READY)
	$(BIN)/python -m benchmarks.scale $(ARGS)

golden: $(READY)
	$(BIN)/python -m pytest tests/golden --update-golden $(ARGS)

catalogue: $(READY)
	mkdir -p build
	SHRINKREPRO_NO_PLUGINS=1 $(BIN)/shrinkrepro strategies --markdown --earned strategies/earned.json > build/catalogue.md
	mv build/catalogue.md strategies/README.md

# What each strategy earned, counted again from the folder that `make bench ARGS="--keep FOLDER"` left.
earned: $(READY)
	$(BIN)/python -m benchmarks.earned $(FROM)
	$(MAKE) catalogue

# Every case is as its table says; with --json the cost beside plain python is measured too.
corpus: $(READY)
	mkdir -p build
	$(BIN)/shrinkrepro replay corpus --json build/corpus.json $(ARGS)

# The same with the oldest torch beside it; corpus/README.md says why a case differs there.
corpus-versions: $(READY) $(READY_OLD)
	$(BIN)/shrinkrepro replay corpus --python $(BIN)/python --python $(VENV_OLD)/bin/python $(ARGS)

# Reduces five cases again from their originals, or those of ONLY=, and compares byte for byte.
corpus-rebuild: $(READY)
	$(BIN)/python -m benchmarks.corpus $(ONLY)

# One reduction killed at random moments and resumed each time; some twenty minutes. ARGS="SCRIPT --kills 10"
kill-test: $(READY)
	$(BIN)/python -m benchmarks.kill_test $(ARGS)

# Scripts that fail only sometimes are reduced, and the results run 2,000 times. ARGS="--only drawn_anew --runs 500"
flaky: $(READY)
	$(BIN)/python -m benchmarks.flaky $(ARGS)

# Whether an interpreter of its own gives each case the verdict that a fork of a warm server gives. ARGS="--only ad16"
bench-isolation: $(READY)
	$(BIN)/python -m benchmarks.isolation $(ARGS)

# The five reports in docs/examples; the last one needs the second torch.
examples: $(READY) $(READY_OLD)
	$(REPORT) corpus/cdist_forward_mode.py -o docs/examples/exception.md
	$(REPORT) corpus/cholesky_inverse_jvp.py -o docs/examples/mismatch.md
	$(REPORT) docs/examples/crash.py -o docs/examples/crash.md
	$(REPORT) corpus/quantile_compiled_jvp.py -o docs/examples/compile.md
	$(REPORT) corpus/function_returns_input_as_is.py --compare $(VENV_OLD)/bin/python -o docs/examples/regression.md

# Opens an HTML report in headless Chromium. What it needs is installed where that may be done, else it skips.
test-browser: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright axe-playwright-python || true
	command -v chromium > /dev/null || ! command -v apt-get > /dev/null || test "$$(id -u)" != 0 \
	    || { apt-get update -qq && apt-get install -y -qq chromium > /dev/null; } || true
	$(BIN)/python -m pytest tests/browser $(ARGS)

# Hostile programs, aimed at canaries, unconfined in a root of their own and then in a confined server; then what
# confinement costs. ARGS="--queries 20000" shows that nothing grows.
hostile: $(READY)
	$(BIN)/python -m benchmarks.hostile
	$(BIN)/python -m benchmarks.confinement $(ARGS)

# The wheel is built from the sdist and tried where nothing else is: no torch, no checkout on the path.
wheel: $(READY)
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist . > /dev/null
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/wheel && bin/shrinkrepro --help > /dev/null && bin/shrinkrepro strategies > /dev/null \
	    && bin/python -c "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is not None)"
	@echo "wheel: installed without torch, help and strategies answer"

check-cuda: $(READY)
	$(BIN)/python benchmarks/check_cuda.py

clean:
	rm -rf $(VENV) $(VENV_OLD) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
