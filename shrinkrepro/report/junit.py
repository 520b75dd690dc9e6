"""A replay as JUnit XML: one suite for each target, one test case for each case.

Decision: what is as expected passes, whatever its status; a status that nobody expected is a failure, a case that
could not be judged an error, and one that its own requirements rule out is skipped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from typing import TYPE_CHECKING

from shrinkrepro.report.replayed import columns_of, header, story

if TYPE_CHECKING:
    from shrinkrepro.tasks.replay import ReplayResult
    from shrinkrepro.tasks.replayer import Replayed

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def junit(result: ReplayResult) -> str:
    """The document as text."""
    root = xml.Element("testsuites", name="shrinkrepro")
    columns = columns_of(result.rows)
    groups = [("shrinkrepro", [row for row in result.rows if not row.torch])]
    for (torch, device), name in zip(columns, header(columns)):
        mine = [r for r in result.rows if r.device == device and f"{r.torch} ({r.python})" == torch]
        groups.append((f"shrinkrepro {name}", mine))
    for name, rows in groups:
        if rows:
            _suite(root, name, rows)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _suite(root: xml.Element, name: str, rows: list[Replayed]) -> None:
    suite = xml.SubElement(
        root,
        "testsuite",
        name=_clean(name),
        tests=str(len(rows)),
        failures=str(sum(not r.as_expected and r.status != "error" for r in rows)),
        errors=str(sum(not r.as_expected and r.status == "error" for r in rows)),
        skipped=str(sum(r.as_expected and r.status == "unsupported" for r in rows)),
        time=f"{sum(row.seconds for row in rows):.3f}",
    )
    for row in rows:
        case = xml.SubElement(
            suite, "testcase", name=_clean(row.name), classname=_clean(row.path), time=f"{row.seconds:.3f}"
        )
        text = _clean("\n".join(f"{label:<10} {value}".rstrip() for label, value in story(row)))
        headline = _clean(f"{row.status}, expected {row.expected or 'a case'}")
        if not row.as_expected and row.status == "error":
            xml.SubElement(case, "error", message=_clean(row.detail), type="error").text = text
        elif not row.as_expected:
            xml.SubElement(case, "failure", message=headline, type=row.status).text = text
        elif row.status == "unsupported":
            xml.SubElement(case, "skipped", message=_clean(row.detail))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
