"""Findings check by check: one block asks the check's question and gives its advice once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit._reports.chapters.finding_lines import columns_of, finding_line, says_words
from audit._reports.words.parts import Advice, Block, Cell, FindingLine, Named, Node, Table
from audit._reports.words.table_specs import Spec, badge, table, texts
from audit._reports.words.words import EVIDENCE, STATUS, capitalised, counted
from audit.results.order import by_severity
from audit.results.printed import NOT_TOLD, looked_at

MANY: Mapping[str, str] = {
    "unexpected_pair": "pairs of nodes",
    "model_confuses": "pairs of labels that the model confuses",
}
"""What findings are of which there may be thousands."""

Check = Mapping[str, Any]


def blocks(
    checks: Sequence[Check],
    called: Mapping[str, str] = EVIDENCE,
    lineage: Sequence[Mapping[str, Any]] = (),
) -> tuple[Block, ...]:
    """A block of each check that shows findings, in their order."""
    above = {line["node"]: line for line in lineage}
    return tuple(_block(check, called, above) for check in checks if check["findings"])


def rest_of(checks: Sequence[Check]) -> str:
    """How many checks found nothing, and how many could not be applied."""
    named = (("pass", "found nothing"), ("not_applicable", "could not be applied"))
    counts = [
        f"{counted(n, 'check')} {what}"
        for status, what in named
        if (n := sum(check["status"] == status for check in checks))
    ]
    text = " and ".join(counts)
    return f"{capitalised(text)}." if text else ""


def _block(
    check: Check, called: Mapping[str, str], above: Mapping[str, Mapping[str, Any]]
) -> Block:
    found, led = _listed(check), anchors(check)
    columns = columns_of(check, called)
    lines = _distinct(
        [finding_line(finding, columns, led[finding["id"]], called, above) for finding in found]
    )
    return Block(
        check=check["name"],
        title=check["title"],
        badge=badge(check["status"], STATUS),
        total=f"{check['total'] - check['folded']:,}",
        sentence=_sentence(check),
        advice=_advice(found),
        findings=lines,
        table=_table(check, columns, lines),
    )


def anchors(check: Check) -> dict[str, str]:
    """Where each finding of a check stands in the report, by its id."""
    places = enumerate(_listed(check), 1)
    return {finding["id"]: f"finding-{check['name']}-{place}" for place, finding in places}


def _listed(check: Check) -> list[Mapping[str, Any]]:
    return sorted(check["findings"], key=by_severity)


def _sentence(check: Check) -> str:
    """What was looked at, and what of the findings is not listed."""
    standing = check["total"] - check["folded"]
    looked = looked_at(check).replace("<", "fewer than ")
    parts = [many(check) or f"{counted(standing, 'finding')}.", f"Looked at: {looked}."]
    if check["not_told"]:
        parts.append(NOT_TOLD)
    if check["folded"]:
        parts.append(f"Explained by these, and folded into them: {check['folded']:,} more.")
    return " ".join(parts)


def many(check: Check) -> str:
    """That a check has more findings than anybody can act on; empty if all are listed."""
    if not check["not_shown"]:
        return ""
    listed, what = len(check["findings"]), MANY.get(check["name"], f"findings of {check['name']}")
    return (
        f"{listed + check['not_shown']:,} {what}. The strongest "
        f"{listed:,} are listed; audit explore sorts all, and audit export writes them."
    )


def _advice(found: Sequence[Mapping[str, Any]]) -> tuple[Advice, ...]:
    """What to do, each advice once, with how many findings it is for where there are several."""
    several = Counter((one["curator"], one["data_user"]) for one in found)
    return tuple(
        Advice(*texts, f"For {counted(n, 'finding')}" if len(several) > 1 else "")
        for texts, n in several.items()
    )


def _distinct(lines: Sequence[FindingLine]) -> tuple[FindingLine, ...]:
    """Findings under their nodes; under their sentences where two have the same nodes."""
    named = Counter(map(_subject, lines))
    return tuple(
        replace(one, cells=((one.cells[0][0], one.headline), *one.cells[1:]))
        if _subject(one) and named[_subject(one)] > 1
        else one
        for one in lines
    )


def _subject(one: FindingLine) -> tuple[Cell, ...]:
    return tuple(cell for _, cell in one.cells if isinstance(cell, Node))


def _table(
    check: Check, columns: Sequence[Mapping[str, str]], lines: tuple[FindingLine, ...]
) -> Table:
    """The findings as rows of a printed table, each with its id."""
    usual = STATUS[check["status"]]

    def first(one: FindingLine) -> Named:
        subject = one.cells[0][1]
        badged = "" if one.badge.word == usual else f"{one.badge.word}: "
        return Named(badged + (subject.text if isinstance(subject, Node) else str(subject)), one.id)

    def cell(place: int) -> Callable[[FindingLine], Cell]:
        return lambda one: one.cells[place][1]

    return table(
        f"block-{check['name']}",
        "The finding" if len(lines) == 1 else f"The {len(lines):,} findings, the strongest first",
        lines,
        texts(columns[0]["heading"], first),
        *(
            Spec(column["heading"], cell(place), numeric=not says_words(column, check["findings"]))
            for place, column in enumerate(columns)
            if place
        ),
    )
