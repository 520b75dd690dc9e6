"""Imports: what each strategy proposes for small programs."""

from __future__ import annotations

from shrinkrepro_strategies import imports

from tests.helpers import candidates, normal


def test_unused_imports_go() -> None:
    source = "import a\nfrom b import c, d\nd()"
    assert candidates(imports.drop_import, source) == [
        normal("from b import c, d\nd()"),
        normal("import a\nfrom b import d\nd()"),
    ]


def test_a_name_is_spelled_out() -> None:
    source = "from torch.func import vmap\nvmap(f)"
    assert candidates(imports.spell_out_import, source) == [
        normal("import torch\ntorch.func.vmap(f)"),
        normal("import torch.func\ntorch.func.vmap(f)"),
        normal("import torch\ntorch.vmap(f)"),
    ]


def test_an_alias_is_spelled_out_without_a_second_import() -> None:
    source = "import torch\nimport torch.nn as nn\nnn.Linear(1, 1)"
    assert normal("import torch\ntorch.nn.Linear(1, 1)") in candidates(imports.spell_out_import, source)


def test_a_name_of_a_relative_import_is_not_spelled_out() -> None:
    assert candidates(imports.spell_out_import, "from .a import b\nb()") == []


def test_a_path_that_is_written_twice_is_imported() -> None:
    source = "import torch\ntorch.func.grad(torch.func.grad(f))"
    assert candidates(imports.import_name, source) == [
        normal("from torch.func import grad\nimport torch\ngrad(grad(f))"),
    ]


def test_an_inner_part_of_a_path_goes() -> None:
    source = "import torch\ntorch.nn.functional.relu(torch.linalg.inv(x))"
    assert candidates(imports.shorten_path, source) == [
        normal("import torch\ntorch.relu(torch.linalg.inv(x))"),
        normal("import torch\ntorch.nn.relu(torch.linalg.inv(x))"),
        normal("import torch\ntorch.nn.functional.relu(torch.inv(x))"),
    ]


def test_an_alias_goes() -> None:
    assert candidates(imports.drop_alias, "from m import f as g\nimport n as k\ng(k)") == [
        normal("from m import f\nimport n as k\nf(k)"),
        normal("from m import f as g\nimport n\ng(n)"),
    ]


def test_an_alias_stays_where_its_own_name_is_taken() -> None:
    assert candidates(imports.drop_alias, "from m import f as g\nf = 1\ng(f)") == []


def test_imports_of_one_module_are_merged() -> None:
    source = "from a import b\nimport c\nfrom a import d, b"
    assert normal("from a import b, d\nimport c") in candidates(imports.merge_imports, source)
