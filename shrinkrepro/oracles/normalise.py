"""The normal form of a message: what is left of it when the accidents of one program are taken out.

Decision: only the first sentence counts, and what reduction changes on purpose (numbers, shapes, levels,
names of the user's own) or the machine changes by itself (addresses, paths, lines) goes. Operator,
transform, dtype and device names stay: they tell one bug from the next.
"""

from __future__ import annotations

import ast
import functools
import re

NUMBER = "<n>"
NAME = "<name>"
SENTENCE_CHARS = 2000  # no message of torch's has a longer first sentence; a program's may print a tensor into one

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LOG_PREFIX = re.compile(r"^\[?[VDIWEFC]\d{4} \d\d:\d\d:\d\d[^\]]*?\] *(?:\[\d+/\d+[^\]]*\] *)?")
_ASSERT = re.compile(r'^(?P<expr>.*?) INTERNAL ASSERT FAILED at "?(?P<path>[^":\n]+)"?:\d+', re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s+[A-Z`'\"(\[]|\s*$)")
_DID_YOU_MEAN = re.compile(r"[.?]? *Did you mean[: ].*$|[.] Perhaps you forgot .*$")
_URL = re.compile(r"\b(?:https?|file)://[^\s\"'>)]+")
_OBJECT = re.compile(r"<(?P<what>[^<>]*?) at 0x[0-9a-fA-F]+>")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_ABSOLUTE = re.compile(r"(?<![\w/.)\]])(?:[A-Za-z]:[\\/]|\.{0,2}/)(?:[^\s/\\\"':,()<>]+[/\\])*([^\s/\\\"':,()<>]+)")
_RELATIVE = re.compile(r"(?<![\w/.])(?:[\w.+-]+/)+([\w.+-]+\.(?:py|pyx|cpp|cc|c|h|hpp|cu|cuh|so|pyd|dll|pt|pth))\b")
_SYMBOL = re.compile(r"(?<![\w.])[su]\d+(?!\w)")  # a symbolic size of the compiler's
_SIZES = re.compile(r"(?<![\w.])\d+(?:x\d+)+(?!\w)")
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?%?(?![\w])|(?<![\w.])[-+]?(?:nan|inf)(?![\w])"
)
_MARKER = re.compile(r"(?<= )\(\d\) (?=[a-z])")
_RUN = re.compile(r"<n>(?:\s*,\s*<n>)+,?")
_EMPTY_SIZES = re.compile(r"(?<=size )\[\]|(?<=sizes )\[\]|(?<=shape )\[\]|(?<=Size\()\[\]|(?<=[\s(,])\[ *\]")
_LIST_RUN = re.compile(r"\[<n>\](?:\s*,\s*\[<n>\])+")
_BYTES = re.compile(r"<n> ?(?:bytes|[KMGT]i?B)\b")
_PLURAL = re.compile(
    r"(?<=<n> )(argument|element|dimension|dim|output|input|value|tensor|positional argument|return)s\b"
)
_PRINTED = re.compile(r"\b(?:\w*Tensor|tensor|Parameter containing:\s*tensor|Py[Tt]reeSpec|TreeSpec)\(")

# The user's own names, where torch or Python put them into a message.
_TRANSFORM = r"vmap|chunk_vmap|grad|vjp|jvp|jacrev|jacfwd|hessian"
_TORCHS_OWN = r"torch|autograd|func|functorch|ctx"
_METHOD = r"vmap|jvp|backward|forward|setup_context"
_USER_NAMES = (
    (re.compile(rf"\b({_TRANSFORM})\([^\s,()]+(?=, (?:in_dims|\.\.\.|args))"), rf"\1({NAME}"),
    (re.compile(r"(?<=in_dims=).+?(?=, \.\.\.\)\(<inputs>\))"), NUMBER),
    (re.compile(r"(?<=, \.\.\.\): )`[^`]+`"), NAME),
    (re.compile(r"\b[A-Za-z_]\w*?(?:Generated)?Backward\b(?!\d)"), f"{NAME}Backward"),
    (re.compile(r"\b(vmap over) (?!aten|torch)[\w.<>]+(?=, but)"), rf"\1 {NAME}"),
    (re.compile(rf"(?<![\w.])(?!(?:{_TORCHS_OWN})\b)[A-Za-z_][\w<>]*\.({_METHOD})\b"), rf"{NAME}.\1"),
    (re.compile(r"(?<![\w.])[\w.<>]+\(\) (?=missing |takes |got )"), f"{NAME}() "),
    (re.compile(r"(?<=positional argument: |ositional arguments: )'\w+'(?:,? (?:and )?'\w+')*"), NAME),
    (re.compile(r"(?<=unexpected keyword argument )'\w+'"), NAME),
    (re.compile(r"(?<=loading state_dict for )\w+"), NAME),
)  # fmt: skip
_ATTRIBUTE = re.compile(r"'(\w+)' object (?=has no attribute|is not|does not|cannot)")
_KNOWN_CLASSES = frozenset(
    {"Tensor", "Parameter", "Size", "dtype", "device", "Generator", "NoneType", "bool", "int", "float", "complex",
     "str", "bytes", "tuple", "list", "dict", "set", "frozenset", "slice", "function", "method", "ellipsis",
     "property", "type", "module", "generator", "range", "builtin_function_or_method", "Function", "ndarray", "SymInt",
     "SymFloat", "SymBool", "FakeTensor"}
)  # fmt: skip

_GOT_INNER = re.compile(
    r"\bgot (?P<type>[A-Za-z_][\w.]*)\((?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)", re.DOTALL
)
_NAMED_INNER = re.compile(
    r"^(?:backend='?[\w.]*'? raised:\s*)?(?:(?:\w+\.)*LoweringException: )?"
    r"(?P<type>(?:\w+\.)*\w*(?:Error|Exception|Iteration|Interrupt)): (?P<text>.*)",
    re.DOTALL,
)
_LAST_LINE_INNER = re.compile(r"^(?P<type>(?:\w+\.)*\w*(?:Error|Exception)): (?P<text>.*)$", re.MULTILINE)
_OPERATOR = re.compile(r"(?<!\w)aten::\w+(?:\.\w+)?")
_ARGUMENTS = re.compile(r" *with argument types \[.*?\]| *\(has_kwargs \w+\)")  # reduction changes them
_EXPLANATION = re.compile(r"^\s*Explanation: (?P<text>.*)$", re.MULTILINE)


def first_sentence(message: str) -> str:
    """The first sentence of ``message``; a line that ends in a colon takes the next one with it."""
    lines = [line.strip() for line in _ANSI.sub("", message).strip().splitlines()]
    lines = [_LOG_PREFIX.sub("", line) for line in lines if line]
    if not lines:
        return ""
    text = lines[0]
    if text.endswith(":") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    text = text[:SENTENCE_CHARS]
    found = _SENTENCE_END.search(text)
    return text[: found.start()] if found else text


def normalise(message: str) -> str:
    """The normal form of a message. Equal for two runs of one failure, different for two failures."""
    plain = _ANSI.sub("", message)
    internal = _ASSERT.search(plain)
    if internal:  # whatever stands before and after: the expression and its file are the bug's name
        expression = " ".join(internal["expr"].split())
        return f"{expression} INTERNAL ASSERT FAILED at {_base(internal['path'])}"
    text = _without_prints(plain)
    text = _DID_YOU_MEAN.sub("", first_sentence(text))
    return _without_accidents(text)


def _without_accidents(text: str) -> str:
    text = _URL.sub("<url>", text)
    text = _OBJECT.sub("<object>", text)
    text = _ADDRESS.sub("<address>", text)
    text = _ABSOLUTE.sub(r"\1", text)
    text = _RELATIVE.sub(r"\1", text)
    for pattern, replacement in _USER_NAMES:
        text = pattern.sub(replacement, text)
    text = _ATTRIBUTE.sub(lambda m: m[0] if m[1] in _KNOWN_CLASSES else f"{NAME} object ", text)
    text = _SYMBOL.sub(NUMBER, _SIZES.sub(NUMBER, text))
    if "(1) " in text and "(2) " in text:  # the numbers of a list of reasons are no sizes
        text = _MARKER.sub("", text)
    text = _NUMBER.sub(NUMBER, text)
    text = _RUN.sub(NUMBER, text)
    text = text.replace("(<n>,)", "(<n>)")
    text = _EMPTY_SIZES.sub("[<n>]", text)
    text = _LIST_RUN.sub("[<n>]", text)
    text = _BYTES.sub("<n> bytes", text)
    text = _PLURAL.sub(r"\1", text)
    return " ".join(text.split()).rstrip(" .:!,;")


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _without_prints(text: str) -> str:
    """``text`` with printed tensors and tree specs, which may span lines, as one word each."""
    parts: list[str] = []
    position = 0
    while True:
        found = _PRINTED.search(text, position)
        if not found:
            return "".join(parts) + text[position:]
        end = _closing(text, found.end())
        word = "<spec>" if "pec(" in found[0] else "<tensor>"
        if end < 0 or found[0] == "torch.Tensor(":
            return "".join(parts) + text[position:]
        parts += [text[position : found.start()], word]
        position = end


def _closing(text: str, start: int) -> int:
    """The position behind the bracket that closes the one before ``start``; -1 when none does."""
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position + 1
    return -1


@functools.lru_cache(maxsize=4096)
def inner_text(type_name: str, message: str) -> tuple[str, str] | None:
    """The type and message of the exception that ``message`` quotes, or None when it quotes none.

    Dynamo, Inductor, TorchScript and the data loader put what really happened into the text of their own error.
    """
    compiler = type_name.startswith(("torch._dynamo.", "torch._inductor.", "torch._functorch.", "torch.fx."))
    if compiler:
        got = _GOT_INNER.search(message)
        if got:
            return got["type"], _unquoted(got["text"])
        named = _NAMED_INNER.match(message)
        if named:
            return named["type"], named["text"]
    if "in DataLoader worker process" in message or "failed in the TorchScript interpreter" in message:
        last = _LAST_LINE_INNER.findall(message)
        if last:
            return last[-1][0], last[-1][1]
    return None


def _unquoted(literal: str) -> str:
    try:
        return str(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return literal[1:-1]


@functools.lru_cache(maxsize=4096)  # candidates of one run fail with few messages, and often
def sentence_of(type_name: str, message: str) -> str:
    """The normal form that stands in a signature.

    An operator that is named only further on belongs to it, and so does the explanation of an error of Dynamo's own.
    """
    sentence = normalise(message)
    operator = _OPERATOR.search(message)
    if operator and "aten::" not in sentence:
        sentence = f"{sentence}: {operator[0]}"
    if type_name.startswith("torch._dynamo."):
        explained = _EXPLANATION.search(message)
        if explained:
            return f"{sentence}: {_ARGUMENTS.sub('', normalise(explained['text']))}"
    return sentence
