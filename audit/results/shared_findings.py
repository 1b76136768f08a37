"""Findings in the shared view, suppressed together with all other published numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from audit.base.plurals import filled
from audit.disclosure import (
    AT_MOST,
    DENOMINATOR,
    WHOLE,
    Cell,
    Known,
    NumberId,
    Quantity,
    Release,
    Shown,
    cell_named,
    least,
    less_precise,
    shown,
    shown_count,
    suppress_breakdown,
    with_tight_bounds,
)
from audit.policy.policy import MIN_CELL_OF_PERSONS
from audit.results.findings import (
    EXCHANGES,
    LINES,
    OF_MODEL,
    SUSPECTS,
    CheckResult,
    Finding,
    Part,
    Waived,
    line_count,
    mostly,
)
from audit.results.published_cells import (
    UNEXPECTED_PAIR,
    UNINFORMATIVE,
    evidence_cells,
    part_cells,
)
from audit.results.reference_changes import SUMS


def withhold_ranks(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Withhold the ranks of all findings of a check if one is; the others would reveal it."""
    if all(finding["evidence"].get("rank", 0) is not None for finding in findings):
        return findings
    return [
        {**finding, "evidence": {**finding["evidence"], "rank": None}}
        if "rank" in finding["evidence"]
        else finding
        for finding in findings
    ]


def cells_of(release: Release, finding: Finding) -> tuple[dict[str, Cell], ...]:
    """Cells by name of evidence: first those of the finding, then those of each of its parts."""
    about = (release, finding.check, finding.nodes, finding.key)
    whole = _known(evidence_cells(*about) | _named(finding.evidence), finding.evidence)
    parts = (
        _known(part_cells(*about, part.nodes) | _named(part.evidence), part.evidence)
        for part in finding.parts
    )
    return whole, *parts


def of_residual(cell: Cell) -> bool:
    """Whether the value of a cell depends on which nodes are residual."""
    return any(scope == "specific" for scope, _ in cell.label_sets)


def without_residuals(known: Known) -> Known:
    """What is known but for counts of residual use, whose meaning has changed since."""
    counts = {cell: count for cell, count in known.counts.items() if not of_residual(cell)}
    ranges = {cell: ends for cell, ends in known.ranges.items() if not of_residual(cell)}
    return replace(known, counts=counts, ranges=ranges)


def _known(cells: Mapping[str, Cell], evidence: Mapping[str, Quantity]) -> dict[str, Cell]:
    return {name: cell for name, cell in cells.items() if name in evidence}


def _named(evidence: Mapping[str, Quantity]) -> dict[str, Cell]:
    """Cells that counts of a check of others name themselves."""
    found = {n: cell_named(one.sources) for n, one in evidence.items() if one.kind == "count"}
    return {name: cell for name, cell in found.items() if cell is not None}


def counts_of(release: Release, finding: Finding) -> Iterator[tuple[Cell, Quantity]]:
    """The counts of a finding that are cells of nodes and pairs."""
    evidence = (finding.evidence, *(part.evidence for part in finding.parts))
    for cells, numbers in zip(cells_of(release, finding), evidence, strict=True):
        for name, cell in cells.items():
            yield cell, numbers[name]


def in_steps(
    finding: Finding, nodes: Mapping[str, Shown], min_cell: int
) -> Iterator[tuple[str, Shown]]:
    """The count in steps of the first node, no more exactly than it is told elsewhere."""
    own = finding.evidence.get("instances")
    bound = nodes.get(finding.nodes[0]) if finding.nodes else None
    if own is not None and own.kind == "coarse" and isinstance(bound, str):
        yield "instances", less_precise(shown({"instances": own}, min_cell)["instances"], bound)


def numbers_of(
    finding: Finding, shared: Mapping[str, Any], cells: Collection[str]
) -> Iterator[tuple[NumberId, tuple[int, Shown]]]:
    """Counts that a finding shows in a shared view, and that no program protects there.

    Args:
        shared: The same in the shared view.
        cells: Names of its evidence that are counts of nodes and pairs, which programs protect.
    """
    parts = {tuple(node["id"] for node in part["nodes"]): part for part in shared["parts"]}
    own = {name: one for name, one in finding.evidence.items() if name not in cells}
    lines: list[tuple[tuple[str, ...], Mapping[str, Quantity], Mapping[str, Shown]]]
    lines = [((), own, shared["evidence"])]
    if finding.check in OF_MODEL or finding.check not in _SEEN_TOGETHER:
        lines += [(p.nodes, p.evidence, parts[p.nodes]["evidence"]) for p in finding.parts]
    for nodes, evidence, numbers in lines:
        for name, quantity in evidence.items():
            if quantity.kind == "count":
                yield (finding.id, nodes, name), (int(quantity.value or 0), numbers[name])


def shared_denominator(
    check: CheckResult,
    published: Sequence[tuple[Finding, Mapping[str, Any]]],
    totals: Sequence[int],
    min_cell: int,
    known: Known,
) -> Shown:
    """What a check looked at: a bound where it is a small cell, or a count that is withheld.

    Args:
        published: Its findings that are shown, each with what the shared view says of it.
        known: What readers know already: it is shown no finer than there.
    """
    value, unit = check.denominator, check.denominator_unit
    if min_cell <= 1 or value in totals:
        return value
    withheld = (
        quantity.value == value and shared["evidence"][name] != value
        for finding, shared in published
        for name, quantity in finding.evidence.items()
        if quantity.kind == "count"
    )
    of_instances = unit.startswith(("instances", "groups"))
    alone = shown_count(value, totals, min_cell) if of_instances else value
    if value and (
        check.name == UNEXPECTED_PAIR
        or (min_cell > MIN_CELL_OF_PERSONS and unit.startswith(_JUDGED))
    ):
        alone = ">0"
    hidden = isinstance(alone, int) and any(withheld) and value >= min_cell
    own = f">{min_cell - 1}" if hidden else alone
    return known.no_finer((check.name, (), DENOMINATOR), value, own)


_JUDGED = ("comparisons", "lifelong", "nodes", "pairs", "parents")
"""Units of denominators that tell which nodes, values and pairs have enough instances to be judged:
those of persons' records are as many as are shown, but for unexpected pairs, of fewer.
"""


def shared_finding(
    finding: Finding,
    min_cell: int,
    titles: Mapping[str, str | None],
    elsewhere: Sequence[Mapping[str, Shown]] = (),
    totals: Sequence[int] = (),
    known: Known | None = None,
    further_labels: float = math.inf,
) -> dict[str, Any]:
    """Make a finding for the shared view: suppressed evidence, and the statement filled in with it.

    Args:
        elsewhere: Counts as they are shown elsewhere, by name of evidence: those of the finding,
            then of each part; empty if none is.
        known: What readers know already: no count is shown finer than there.

    Parts are ranked by published values, ties by their nodes.
    """
    own, *of_parts = elsewhere or [{}] * (1 + len(finding.parts))
    if min_cell > 1:
        lines = _beside_each_other(finding, min_cell, own, of_parts, further_labels)
        own, *of_parts = _no_finer(finding, min_cell, lines, known or Known())
    evidence = with_tight_bounds(
        finding.evidence, shown(finding.evidence, min_cell, own), min_cell, *totals
    )
    wholes = [evidence[name] for name in _WHOLES if name in evidence]
    whole = next((one for one in wholes if not isinstance(one, int)), 0)
    of_parts = [{WHOLE: whole, **part} for part in of_parts]
    parts = _ranked_parts(finding, min_cell, of_parts)
    return {
        "id": finding.id,
        "severity": finding.judged_severity,
        "nodes": _titled(_nodes_as_shown(finding, [part for part, _ in parts]), titles),
        "statement": filled(
            finding.statement, evidence | {"mostly": mostly(finding, evidence, parts, titles)}
        ),
        "evidence": evidence,
        "parts": [
            {"nodes": _titled(part.nodes, titles), "evidence": part_evidence}
            for part, part_evidence in parts
        ],
        "curator": finding.curator,
        "data_user": finding.data_user,
        **_answered_for(finding.judgement.waiver),
        "known": finding.judgement.known,
    }


def _answered_for(waiver: Waived | None) -> dict[str, dict[str, str] | None]:
    """``waiver`` if the finding does not count, and ``to_fix`` if somebody is to fix it."""
    if waiver is None:
        return {"waiver": None}
    if not waiver.to_fix:
        return {"waiver": asdict(waiver)}
    promised = {"owner": waiver.owner, "reason": waiver.reason, "expires": waiver.expires}
    return {"waiver": None, "to_fix": promised}


def _no_finer(
    finding: Finding, min_cell: int, elsewhere: Sequence[Mapping[str, Shown]], known: Known
) -> list[Mapping[str, Shown]]:
    """Counts as they are shown, no finer than readers know them from other views."""
    lines = [((), finding.evidence), *((part.nodes, part.evidence) for part in finding.parts)]
    return [
        {
            **own,
            **{
                name: known.no_finer((finding.id, nodes, name), evidence[name].value, one)
                for name, one in shown(evidence, min_cell, own).items()
                if evidence[name].kind == "count"
            },
        }
        for (nodes, evidence), own in zip(lines, elsewhere, strict=True)
    ]


_SEEN_TOGETHER = ("cross_branch", "residual_overuse", UNEXPECTED_PAIR, EXCHANGES)
"""Checks whose parts are protected together with all counts of nodes and pairs, or are of a
model.
"""


_WHOLES = ("instances", "labelled", "matched_labelled")
"""Names of evidence that shares of parts are taken of, and so tell."""


def _beside_each_other(
    finding: Finding,
    min_cell: int,
    known: Mapping[str, Shown],
    of_parts: Sequence[Mapping[str, Shown]],
    further_labels: float,
) -> list[Mapping[str, Shown]]:
    """Counts as they are shown elsewhere, and as they may be beside each other in a finding.

    A sum is withheld rather than a line that other numbers tell of: they would tell it again.
    """
    counts = [line_count(part.evidence) for part in finding.parts]
    named = all(one and one.kind != "unnamed" for one in counts)
    if finding.check in _SEEN_TOGETHER or not named:
        return [known, *of_parts]
    evidence = shown(finding.evidence, min_cell, known)
    alone = [
        line_count(shown(part.evidence, min_cell, line))
        for part, line in zip(finding.parts, of_parts, strict=True)
    ]
    sums = [name for name in SUMS if name in evidence and _is_sum(finding, name)]
    sums += ["instances"] * (finding.check == SUSPECTS)  # each of which is in one line
    lines = next((evidence[n] for n in LINES if n in evidence and n not in sums), None)
    always = [name for name in sums if finding.evidence[name].kind == "exempt"]
    hidden = [name for name in sums if name not in always]
    told = "labelled" if (finding.check, finding.key) == UNINFORMATIVE else "instances"
    cells = [line[told] for line in of_parts if told in line]
    withheld: dict[str, Shown] = {}
    for open_ in ((), hidden, ["instances"])[any(map(_is_more, cells)) :]:
        for name in (name for name in open_ if name in evidence):
            withheld[name] = f">{min_cell - 1}" if least(evidence[name]) >= min_cell else ">0"
        opened, narrow = suppress_breakdown(
            [int(one.value or 0) for one in counts if one],
            alone,
            min_cell,
            unseen=max(lines - len(counts), 0) if isinstance(lines, int) else 0,
            made_up=withheld.get("instances", evidence.get("instances")),
            summed=[withheld.get(name, evidence[name]) for name in hidden],
            exempt=[int(n) for name in always if isinstance(n := evidence[name], int)],
            at_most=[line.get(AT_MOST) for line in of_parts],
            beyond=further_labels if (finding.check, finding.key) == UNINFORMATIVE else math.inf,
        )
        if not narrow and (open_ or not cells or opened == alone):
            break
    parts = [{**line, told: one} for line, one in zip(of_parts, opened, strict=True)]
    return [{**known, **withheld}, *parts]


def _is_more(shown: Shown) -> bool:
    """Whether a count is withheld although it is not small, since others would tell by it."""
    return shown is None or (isinstance(shown, str) and shown.startswith(">"))


def _is_sum(finding: Finding, name: str) -> bool:
    """Whether the parts sum to a number: labels are counted, or are only how many differ."""
    return name != "labels" or finding.evidence[name].kind == "count"


def _ranked_parts(
    finding: Finding, min_cell: int, elsewhere: Sequence[Mapping[str, Shown]]
) -> list[tuple[Part, dict[str, Shown]]]:
    parts = [
        (part, with_tight_bounds(part.evidence, shown(part.evidence, min_cell, known), min_cell))
        for part, known in zip(finding.parts, elsewhere, strict=True)
    ]
    return sorted(parts, key=lambda part: (-least(line_count(part[1])), part[0].nodes))


def _nodes_as_shown(finding: Finding, parts: Sequence[Part]) -> tuple[str, ...]:
    """Nodes of a finding; those that its parts give it in the order of what is shown of these."""
    if not finding.key or not parts:
        return finding.nodes
    if finding.nodes == finding.parts[0].nodes:
        return parts[0].nodes
    firsts = tuple(part.nodes[0] for part in finding.parts)
    return tuple(part.nodes[0] for part in parts) if finding.nodes == firsts else finding.nodes


def _titled(
    nodes: tuple[str, ...], titles: Mapping[str, str | None]
) -> list[dict[str, str | None]]:
    return [{"id": node, "title": titles.get(node)} for node in nodes]
