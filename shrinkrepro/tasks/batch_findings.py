"""What the records of a batch come to: groups before and after reduction, and a row for each script.

Decision: all of it follows from the scripts and their records, so a run that was taken up again tells the same as one
that never stopped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shrinkrepro.tasks.batch_check import Checked
from shrinkrepro.tasks.batch_groups import merged, same_after
from shrinkrepro.tasks.batch_request import Group, ScriptRow
from shrinkrepro.tasks.batch_scripts import BatchScript
from shrinkrepro.tasks.batch_state import CHECKED, REFUSED, Record

_NOT_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Findings:
    """The scripts of a batch and what is known of them, both by name."""

    scripts: Mapping[str, BatchScript]
    records: Mapping[str, Record]

    def keyed(self) -> dict[str, list[str]]:
        """The names of the failing scripts by the key of their group, the smallest first, before reduction."""
        first: dict[str, Checked] = {}
        names: dict[str, list[str]] = {}
        for name, record in self.records.items():
            if record.checked is None or record.status == REFUSED:
                continue
            if record.key not in first:
                first[record.key] = Checked.of(record.checked)
            names.setdefault(record.key, []).append(name)
        return self._together(names, merged(first, names))

    def chosen(self) -> dict[str, list[str]]:
        """The groups in the order in which they are reduced: those of many scripts first."""
        found = self.keyed()
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), self.records[pair[1][0]].tokens, pair[0])))

    def stands(self) -> dict[str, list[str]]:
        """The names of the failing scripts by group, once what is reduced is known."""
        found = self.keyed()
        reduced = {
            key: [
                (one["text"], Checked.of(one["check"]) if one["check"] else None)
                for one in (self.records[name].reduction for name in names)
                if one is not None
            ]
            for key, names in found.items()
        }
        return self._together(found, same_after(reduced))

    def _together(self, names: Mapping[str, list[str]], stands: Mapping[str, str]) -> dict[str, list[str]]:
        """``names`` by the key that ``stands`` for theirs, the smallest scripts first."""
        together: dict[str, list[str]] = {}
        for key, those in names.items():
            together.setdefault(stands[key], []).extend(those)
        return {key: sorted(those, key=lambda n: (self.records[n].tokens, n)) for key, those in together.items()}

    def groups(self) -> list[Group]:
        """The groups as they are told, the largest first."""
        order = sorted(self.stands().values(), key=lambda names: (-len(names), self.records[names[0]].tokens, names[0]))
        return [self._group(number, names) for number, names in enumerate(order, 1)]

    def _group(self, number: int, names: list[str]) -> Group:
        reduced = tuple(name for name in names if self.records[name].reduction is not None)
        best = self.best(reduced)
        shown = self.records[best or names[0]]
        checked = Checked.of(shown.checked or {})
        reduction, case = shown.reduction, shown.case
        signature = str(reduction["signature"]) if reduction else checked.signature
        return Group(
            number=number,
            title=(case or {}).get("title") or _title(checked, signature),
            signature=signature,
            blame=_wrong(checked),
            scripts=tuple(names),
            reduced=reduced,
            source=str(reduction["text"]) if reduction else "",
            tokens=int(reduction["tokens_after"]) if reduction else 0,
            file=f"groups/{number:03}_{slug(best)}.py" if best else "",
            is_case=bool(case and case["text"]),
            why=_why_no_case(shown),
        )

    def best(self, names: Sequence[str]) -> str:
        """The script with the smallest result; confirmed ones before others."""

        def size(name: str) -> tuple[bool, int, str, str]:
            reduction = self.records[name].reduction or {}
            return not reduction["confirmed"], reduction["tokens_after"], reduction["text"], name

        return min(names, key=size, default="")

    def overview(self) -> list[tuple[str, int, str]]:
        """What a display shows of the groups: title, scripts, how far they are."""
        rows = []
        for names in self.chosen().values():
            records = [self.records[name] for name in names]
            done = [one.reduction for one in records if one.reduction is not None]
            tokens = min((one["tokens_after"] for one in done), default=0)
            under_way = min((one.accepted_tokens for one in records if one.accepted), default=0)
            state = f"{tokens} tokens" if done else f"{under_way} tokens so far" if under_way else ""
            checked = Checked.of(records[0].checked or {})
            rows.append((_title(checked, checked.signature), len(names), state))
        return rows

    def rows(self, groups: Sequence[Group]) -> tuple[ScriptRow, ...]:
        """A row for each script, in their order."""
        number = {name: group.number for group in groups for name in group.scripts}
        has = {group.number for group in groups if group.reduced}
        return tuple(
            row_of(record, number.get(name, 0), number.get(name, 0) in has) for name, record in self.records.items()
        )


def _why_no_case(record: Record) -> str:
    if record.reduction is None:
        return record.why
    if record.case is not None and not record.case["text"]:
        return str(record.case["failure"])
    return ""


def _wrong(checked: Checked) -> str:
    words = checked.blame.words()
    return f"wrong values: {words}" if words else ""


def _title(checked: Checked, signature: str) -> str:
    return _wrong(checked) or signature.partition(", raised ")[0]


def slug(name: str) -> str:
    """A file's name, without ``.py``, made of a script's."""
    return _NOT_A_NAME.sub("_", name.lower().removesuffix(".py")).strip("_")[:48] or "script"


def row_of(record: Record, group: int, has: bool) -> ScriptRow:
    """The row of a script in the group of a number (0: none); ``has``: one of this group was reduced."""
    reduction = record.reduction
    status = record.status
    if status == REFUSED and record.error == "NotFailingError":
        status = "passes"
    elif status == CHECKED:
        status = "same bug" if has else "not reduced"
    why = record.why
    if status == "not reduced" and not why:
        why = "the run ended before its turn; the same command goes on"
    if reduction and not reduction["confirmed"]:
        why = "its end could not be confirmed in fresh runs"
    return ScriptRow(
        name=record.name,
        status=status,
        group=group,
        signature=str((record.checked or {}).get("signature", "")),
        why=why,
        hint=record.hint,
        tokens=record.tokens,
        tokens_after=int(reduction["tokens_after"]) if reduction else 0,
        confirmed=bool(reduction and reduction["confirmed"]),
        seconds=round(sum(record.seconds.values()), 3),
    )
