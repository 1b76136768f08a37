"""Findings: the verdict, the ten to act on, and each check with its table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audit.base.declared import Columns, Table, node, text
from audit.base.plurals import counted
from audit.results.findings import OF_MODEL
from audit.results.order import by_severity, first_findings
from audit.results.printed import NOT_TOLD, Rounded
from audit.results.since import is_twin, twin_of
from reports import words
from reports.cells import Cell, cell
from reports.render import ShownTable, table
from reports.words import Row

SHOWN, WARNINGS, PARTS = 5, 15, 5
"""Findings of a check that are shown, of warnings, and parts of a finding."""
SHARE = "Share"
"""Heading of a share that says no more."""
_SENTENCE_END = re.compile(r"(?:(?<=[a-z0-9)%]{3})|(?<=[0-9)%]))[.;](?= [^a-z\d])(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding: its sentence, what to do, and its parts, each in a line."""

    id: str
    check: str
    severity: str
    state: str
    sentence: str
    to_do: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A check with what it found: a table, or sentences where it has none of its own.

    Args:
        advice: What publishers, and what users of the data do.
        notes: What is not shown.
    """

    name: str
    title: str
    severity: str
    word: str
    advice: tuple[str, str]
    table: ShownTable | None
    found: tuple[Found, ...]
    notes: tuple[str, ...]


def first_sentence(text: str) -> str:
    """The first sentence of a text, with its point.

    >>> first_sentence("Look at rec. 12 and 3.5 more. Then decide.")
    'Look at rec. 12 and 3.5 more.'
    """
    end = _SENTENCE_END.search(text)
    return text if end is None else text[: end.start()] + "."


def ten(view: Row) -> list[Found]:
    """The findings to act on, the first one first; advice that repeats stands once."""
    states = _states(view)
    made, said = list[Found](), set[str]()
    for check, one in first_findings(view):
        found = _found(check, one, states)
        made.append(replace(found, to_do="" if found.to_do in said else found.to_do))
        said.add(found.to_do)
    return made


def _states(view: Row) -> dict[str, str]:
    """What became of each finding since the reference."""
    since = view["since_reference"] or {"findings": ()}
    return {one["id"]: one["change"] for one in since["findings"]}


def _state(one: Row, states: Mapping[str, str]) -> str:
    """What was decided of a finding, else what became of it since the reference."""
    waived: str = one["waiver"] and one["waiver"]["decision"]
    promised = "to be fixed" if "to_fix" in one else ""
    unasked = "not asked before" if one["unasked"] else ""
    return waived or promised or unasked or states.get(one["id"], "")


def _found(check: str, one: Row, states: Mapping[str, str]) -> Found:
    """A finding of a check, as reports list it: its state, first sentence and first advice."""
    return Found(
        id=one["id"],
        check=check,
        severity=one["severity"],
        state=_state(one, states),
        sentence=first_sentence(one["statement"]),
        to_do=first_sentence(one["curator"]),
    )


_VERDICTS = {
    "error": "Incomplete: {n} of {of} crashed",
    "fail": "Errors in {n} of {of}",
    "warn": "No errors; {n} of {of} {verb}",
    "note": "No errors or warnings; {n} of {of} {has} notes",
    "pass": "Nothing found by {of}",
    "not_applicable": "Not judged: no check applies",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict: the result in a few words, and what it is of."""

    severity: str
    head: str
    sentences: tuple[str, ...]

    @property
    def said(self) -> str:
        """All of it in one line."""
        return " ".join((f"{self.head}.", *self.sentences))


def verdict(view: Row) -> Verdict:
    """The result of a view in a few words, with sentences on what it is of and what is new."""
    status = view["status"]
    statuses = [one["status"] for one in view["checks"] if one["status"] != "not_applicable"]
    n = statuses.count(status)
    verb, has = ("warns", "has") if n == 1 else ("warn", "have")
    of = counted(len(statuses), "checks")
    head = _VERDICTS[status].format(n=f"{n:,}", of=of, verb=verb, has=has)
    findings, called = number_of_findings(view), view["identity"]["data"]["called"]
    none = ", none to act on first" if findings and not view["worst"] else ""
    what = f"{counted(view['ledger']['instances'], called)}, {counted(findings, 'findings')}{none}."
    analysed = (one["sentence"] for one in view.get("tables", {}).values())
    sentences = (what, *filter(None, analysed), *_since(view), *_not_judged(view))
    return Verdict(words.TONE.get(status, status), head, sentences)


def number_of_findings(view: Row) -> int:
    """Number of findings, without those folded into others; with those that the view leaves out."""
    return sum(one["total"] - one["folded"] for one in view["checks"])


def _since(view: Row) -> Iterator[str]:
    """What is new or worse than in the reference, and what of it moved most."""
    since, rounding = view["since_reference"], view["rounding"]
    if since is None:
        return
    new, worse = (sum(one[what] or 0 for one in since["checks"]) for what in ("new", "worse"))
    said = f"Since the reference: {new:,} new and {worse:,} worse"
    first = next((one for one in moved(view) if one["change"] in ("new", "worse")), None)
    if first:
        before, now = (
            words.percent(first[one], first["of"], rounding) for one in ("before", "now")
        )
        said += f", most of all {first['what']}: {before} before, {now} now"
    yield f"{said}."


def moved(view: Row) -> list[dict[str, Any]]:
    """The findings whose share is another than in the reference, the furthest apart first.

    Those that only hold another finding against the reference are left out.
    """
    every = view["since_reference"]["findings"]
    twins = {twin_of(one["id"]) for one in every}
    named = {one["id"]: _named(one, check) for check in view["checks"] for one in check["findings"]}
    rows = [
        {
            **one,
            "what": named[one["id"]],
            "difference": one["now"] - one["before"],
        }
        for one in every
        if one["effect"] == "share" and one["id"] not in twins
        and None not in (one["before"], one["now"]) and one["before"] != one["now"]
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -abs(row["difference"]))


def _named(one: Row, check: Row) -> str:
    """What a finding is of, as the row of its check's table says it, and what its share is of."""
    columns, row = check_columns(check), finding_row(one, {})
    first, *others = [
        (column.heading.lower(), cell(column, row, columns, None).text)
        for column in columns.values()
        if column.heading and column.kind == "text" and row.get(column.name)
    ] or [("", words.name(check["name"]))]
    share = columns["share"].heading if "share" in columns else SHARE
    of = f", {share.lower()}" if share not in ("", SHARE) else ""
    return " ".join([first[1], *(f"{heading} {said}" for heading, said in others)]) + of


def _not_judged(view: Row) -> Iterator[str]:
    """Why nothing of a model could be judged; nothing where something was, or without one."""
    checks = [one for one in view["checks"] if one["name"] in OF_MODEL]
    judged = any(one["status"] != "not_applicable" and one["denominator"] != 0 for one in checks)
    if view["ledger"]["predictions"] is not None and checks and not judged:
        reasons = "; ".join(one["reason"] or f"no {one['denominator_unit']}" for one in checks)
        yield f"Nothing of the model could be judged: {reasons}."


def blocks(view: Row) -> list[Block]:
    """The checks that found something, in the order of the view."""
    states = _states(view)
    return [_block(one, view["rounding"], states) for one in view["checks"] if one["findings"]]


def _block(check: Row, rounding: Rounded, states: Mapping[str, str]) -> Block:
    every = _with_twins(sorted(check["findings"], key=by_severity))
    warnings = sum(one["severity"] != "note" for one in every)
    shown = every[: min(WARNINGS, max(SHOWN, warnings))]
    columns = check_columns(check)
    sheet, rows = None, [finding_row(one, states) for one in shown]
    texts = [one for one in columns.values() if one.heading and one.kind == "text"]
    named = any(all(row.get(one.name) for row in rows) for one in texts if one not in _STATE)
    if len(shown) > 1 and named:
        sheet = table(Table(columns, first=len(shown)), rows, rounding)
        sheet = sheet and replace(
            sheet, rows=tuple(_with_parts(sheet.rows, shown, check, rounding))
        )
    return Block(
        name=check["name"],
        title=check["title"],
        severity=words.TONE.get(check["status"], check["status"]),
        word=words.STATUS[check["status"]],
        advice=(first_sentence(every[0]["curator"]), first_sentence(every[0]["data_user"])),
        table=sheet,
        found=() if sheet else tuple(
            replace(_found(check["name"], one, states), parts=tuple(_parts(one, check, rounding)))
            for one in shown
        ),
        notes=tuple(_notes(check, len(shown), len(check["findings"]) - len(every))),
    )  # fmt: skip


def _with_twins(every: Sequence[Row]) -> list[Row]:
    """Findings; each that holds another one against the reference is merged into that one."""
    twins = {one["id"]: one["evidence"] for one in every}
    joined = {twin_of(one["id"]) for one in every}
    return [
        {
            **one,
            "evidence": {**twins.get(twin_of(one["id"]), {}), **one["evidence"]},
            "against_reference": twin_of(one["id"]) in twins,
        }
        for one in every
        if one["id"] not in joined
    ]


def check_columns(check: Row) -> Columns:
    """Columns of a check's table: nodes, share in the reference if any, evidence, and state."""
    names = ("node", "other")
    nodes = (
        node(name, heading, title=f"{name}_title")
        for name, heading in zip(names, check["nodes"], strict=False)
    )
    columns = [*Columns.read(check["columns"]).values()]
    there = [replace(one, name="reference_share", heading="Reference")
             for one in columns if one.name == "elsewhere_share"]  # fmt: skip
    return Columns(*nodes, there, columns, _STATE)


_STATE = text("state", "State")


def finding_row(one: Row, states: Mapping[str, str]) -> dict[str, Any]:
    """A finding as a row of `check_columns`: its evidence, its nodes, and its state."""
    row = {**one["evidence"], "state": _state(one, states)}
    if one.get("against_reference") or is_twin(one["id"]):
        row["reference_share"] = row.pop("elsewhere_share")
    for name, found in zip(("node", "other"), one["nodes"], strict=False):
        row |= {name: found["id"], f"{name}_title": found["title"]}
    return row


def _with_parts(
    rows: Sequence[tuple[Cell, ...]], shown: Sequence[Row], check: Row, rounding: Rounded
) -> Iterator[tuple[Cell, ...]]:
    """Rows whose first cell has the id of the finding, and its parts folded below it."""
    for (first, *others), one in zip(rows, shown, strict=True):
        parts = tuple(_parts(one, check, rounding))
        yield replace(first, id=one["id"], tone=one["severity"], parts=parts), *others


def _parts(one: Row, check: Row, rounding: Rounded) -> Iterator[str]:
    """The first `PARTS` parts of a finding, each in a line; then "and more" if there are more."""
    columns = Columns.read(check["part_columns"])
    parts = one["parts"]
    for part in parts[:PARTS]:
        names = " and ".join(words.node(each["id"], each["title"]) for each in part["nodes"])
        told = (c for c in columns.values() if c.kind == "count" and c.name in part["evidence"])
        counts = [cell(c, part["evidence"], columns, rounding).text for c in [*told][:1]]
        yield ": ".join([names, *counts])
    if len(parts) > PARTS or one["more_parts"]:
        yield "and more"


def _notes(check: Row, shown: int, joined: int) -> Iterator[str]:
    """Sentences on findings of a check that are not shown: how many, and that few are not told."""
    more = check["total"] - check["folded"] - shown - joined
    if more > 0:
        yield f"{more:,} more in audit explore."
    if check["not_told"]:
        yield NOT_TOLD
