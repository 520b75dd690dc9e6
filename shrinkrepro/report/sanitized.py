"""What a sanitized run found, as text: a pure function of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from shrinkrepro.tasks.sanitize import Finding, SanitizeResult

_BY = {
    "reference": "loops and plain reverse-mode autograd give",
    "slope": "finite differences along a random direction give",
    "float64": "float64 gives",
    "gradient": "the gradient of the reference is",
}


def print_sanitized(console: Console, result: SanitizeResult) -> None:
    """Print the findings and the pairs."""
    for finding in result.findings:
        console.print(Text(f"{finding.file}:{finding.line}: {what(finding)}", style="red"), soft_wrap=True)
        if finding.text:
            console.print(Text(f"    {finding.text}"), soft_wrap=True)
        values = f"    got {shown(finding.actual)}, where {_BY[finding.by]} {shown(finding.expected)}"
        console.print(Text(values), soft_wrap=True)
        if finding.command:
            console.print(Text(f"    {finding.command}", style="bold"), soft_wrap=True)
    if not result.findings:
        console.print(Text("no transform call differs from its reference"), soft_wrap=True)
    if result.ended:
        console.print(Text(f"the script itself fails: {result.ended}"), soft_wrap=True)
    if result.pairs:
        console.print()
        console.print(Text("values that differ, and may be meant to be equal:"), soft_wrap=True)
    for number, pair in enumerate(result.pairs, 1):
        console.print(Text(f"{number}. {pair.got} and {pair.want}: {pair.how}"), soft_wrap=True)
        console.print(Text(f"   {pair.command}", style="bold"), soft_wrap=True)


def what(finding: Finding) -> str:
    """What is wrong with the call, in words."""
    words = {
        "nan": "gives NaN",
        "inf": "gives an infinite value",
        "zero": "gives zero",
        "sign": "has the wrong sign",
        "shape": "has another shape",
        "dtype": "has another dtype",
    }.get(finding.kind, f"is off by {finding.error:.2g} of the largest value")
    times = f" ({finding.times} times)" if finding.times > 1 else ""
    return f"{finding.transform} {words}{times}"


def shown(values: tuple[Any, ...]) -> str:
    """A few numbers or words."""
    texts = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in values]
    return f"[{', '.join(texts)}]" if len(texts) != 1 else texts[0]
