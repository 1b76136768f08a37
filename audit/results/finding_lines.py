"""The lines of findings: what each counts, and which of them a sentence names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from audit.base.plurals import filled, title_and_code
from audit.results.findings import Evidence, Finding, Part
from audit.sharing.told import Declared, Rounding
from audit.sharing.words import said

EXACTLY = Rounding()
"""Tells every number as it is."""
LINES = ("labels", "pairs", "codes")
"""Names of evidence for the total number of lines, of which the parts are the first."""
EXAMPLES = 2
"""Number of nodes that a sentence names as examples."""
LEAST_TOLD = 5
"""The pair that is most often behind a finding is named from this part of it on: a fifth."""


def sentence(
    finding: Finding, columns: Declared, titles: Mapping[str, str | None], rounding: Rounding
) -> str:
    """The sentence of a finding with its numbers, which ``columns`` say how to tell, and titles as
    `Finding.titles` has them."""
    values = {**finding.evidence, "mostly": _mostly(finding, titles, rounding)}
    return filled(finding.statement, values, said(finding.evidence, columns, rounding))


def _mostly(finding: Finding, titles: Mapping[str, str | None], rounding: Rounding) -> str | None:
    """Words for ``mostly``: what makes up most of a finding, by told counts; None for nothing.

    Of a finding that counts its lines, these are examples where none is much of it.
    """
    evidence, own = finding.evidence, () if finding.key else finding.nodes
    lines = [one for one in largest_first(finding.parts) if finding.key or one.nodes != own]
    if not lines:
        return None
    n, *others = (_counted_in(one.evidence, evidence) for one in lines)
    of, pairs = evidence.get("instances"), len(lines[0].nodes) > 1
    named = [
        " and ".join(title_and_code(one, titles.get(one)) for one in line.nodes if one not in own)
        for line in lines
    ]
    every = next((evidence[name] for name in LINES if name in evidence), None)
    examples = 1 if pairs else EXAMPLES
    few = " and ".join(named[:examples])
    if every == len(named) <= examples:
        return few
    if n is not None and of is not None and rounding.lists(n):
        alone = not others and "labelled" in lines[0].evidence
        if (alone or (n >= of and not others)) and not rounding.width:
            return f"always {named[0]}"
        if 2 * n > of and (of > n or not rounding.width):
            return f"mostly {named[0]}"
        ties = sum(other is not None and other >= n for other in others)
        if pairs and LEAST_TOLD * n >= of and ties < (1 if rounding.width else 2):
            return f"most often {' or '.join(named[: 1 + ties])}"
    if every is None:
        return None
    return f"among them {few}" if rounding.width else f"such as {few}"


def largest_first(lines: Iterable[Part]) -> list[Part]:
    """Lines by what they count, then by their nodes."""
    return sorted(lines, key=lambda one: (-(line_count(one.evidence) or 0), one.nodes))


def line_count(evidence: Evidence) -> int | None:
    """What a line of a finding counts: its instances, else all labelled with its node, or None."""
    found = evidence.get("instances", evidence.get("labelled"))
    return None if found is None else int(found)


def nodes_by_parts(finding: Finding, parts: Sequence[Part]) -> tuple[str, ...]:
    """Nodes of a finding; those that its parts give it in the order of these."""
    if not finding.key or not parts:
        return finding.nodes
    if finding.nodes == finding.parts[0].nodes:
        return parts[0].nodes
    firsts = tuple(part.nodes[0] for part in finding.parts)
    return tuple(part.nodes[0] for part in parts) if finding.nodes == firsts else finding.nodes


def _counted_in(line: Evidence, evidence: Evidence) -> int | None:
    """How many of a finding's instances a line counts; at least, where it counts others too."""
    if "instances" in line:
        return line_count(line)
    labelled, of, own = line.get("labelled"), evidence.get("of"), evidence.get("instances")
    if labelled is None or of is None or own is None:
        return None
    return int(labelled - (of - own))
