"""The checks of what tuples state as a graph, and all checks of an entailment graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import polars as pl

from audit.analyses.entailment.checks import (
    Case,
    Measured,
    arrows,
    bounds,
    cases,
    check,
    duplicate_tuple,
    edge,
    generation_mismatch,
    head_in_two_splits,
    quoted,
    tail_mismatch,
    weak_label,
)
from audit.analyses.entailment.graph import ACROSS, EDGE, ONE
from audit.base.declared import NONE, Mark, count, share
from audit.checks.check import Check, Outcome
from audit.checks.rows import Row
from audit.measure.measure import Measurements

OF_EDGES = (
    *share("share", "Share", of="edges of", ends="low high", mark=Mark()),
    *count("edges", "Edges", of=NONE, among="of"),
    *count("of", of=NONE),
    *count("instances", "Tuples"),
)
_EDGES = ("graph_relations", "edges", "edges", "no tuple states an edge")
_VALID_EDGES = ("graph_relations", "valid_edges", "valid edges", "no tuple states a valid edge")
_CHAINS = (
    *("graph_relations", "chains", "chains of two valid edges"),
    "no valid edge begins where another ends",
)


def _under(row: Case) -> str:
    """The head that a case was judged under, in brackets; nothing where that is the instance."""
    return "" if row["head"] is None else f" (under {quoted(row['head'])})"


def _where_judged(row: Case) -> str:
    """Whether the edges of a finding were judged under one head, as the end of a clause."""
    if not row["one_context"]:
        return " under different heads, where a text may mean different things"
    return "" if row["head"] is None else " under the same head"


@check(
    "Do any texts entail each other in a cycle?",
    _VALID_EDGES,
    "untold",
    count("instances"),
    count("texts edges", of=NONE),
)
def cycle(found: Measured) -> Iterator[Row]:
    """Each strongly connected component of valid edges, with a shortest cycle."""
    tuples = found.tuples.filter(pl.col("valid") & (pl.col("instance") != pl.col("concept")))
    for end in EDGE[1:]:
        members = found.frames["graph_members"].rename({"text": end, "first": f"{end}_first"})
        tuples = tuples.join(members, on=["relation", end])
    inside = tuples.filter(pl.col("instance_first") == pl.col("concept_first"))
    behind = inside.partition_by("relation", "instance_first", as_dict=True)
    for row in found.frames["graph_components"].to_dicts():
        pair, relation = " and ".join(map(quoted, row["cycle"][:2])), row["relation"]
        said = (
            f"{{texts}} texts of {relation} entail each other by {{edges}} valid edges"
            f"{_where_judged(row)}: {arrows(*row['cycle'])}{_under(row)}."
        )
        if row["synonyms"]:
            said = (
                f"{{texts}} texts of {relation}, {pair} among them, are stated to be synonyms: "
                "each of their {edges} valid edges is valid in both directions."
            )
        if row["synonyms"] and row["texts"] == 2:
            said = (
                f"{pair} entail each other by {{edges}} valid edges of {relation}: they are stated "
                "to be synonyms."
            )
        yield found.row(
            behind[relation, row["first"]],
            {"texts": row["texts"], "edges": row["edges"]},
            relation,
            row["first"],
            severity="warning" if row["one_context"] else "note",
            sentence=said,
            curator="If the texts say the same, give them one spelling; otherwise have the edges "
            "of the cycle judged again: at least one of them is wrong.",
            data_user="Merge these texts, or leave their edges out, before using the edges as a "
            "hierarchy.",
        )


def _edges(
    found: Measured, table: str, among: str, *steps: tuple[str, str], **further: str
) -> Iterator[tuple[pl.DataFrame, Case, Callable[..., Row]]]:
    """For each relation, and for one context and several: rows, the first, what makes the finding.

    Args:
        among: Which edges of the relation have the share.
        steps: The edges that the tuples of a case state.
        further: More evidence: names of numbers of the relation.
    """
    keys = [one for one in ("relation", "one_context") if one in found.frames[table].columns]
    for own in found.frames[table].partition_by(keys, maintain_order=True):
        first = own.row(0, named=True)
        relation, one = first["relation"], first.get("one_context")
        (numbers,) = found.frames["graph_relations"].filter(relation=relation).to_dicts()
        edges = pl.concat(own.select("relation", instance=a, concept=b) for a, b in steps)
        tuples = found.tuples.join(edges, on=EDGE, how="semi")
        evidence = bounds("edges", len(own), numbers[among])
        evidence |= {name: numbers[column] for name, column in further.items()}
        key = (relation,) if one is None else (relation, ONE if one else ACROSS)
        severity = "warning" if one else "note"
        yield own, first, partial(found.row, tuples, evidence, *key, severity=severity)


@check("Is any edge both valid and invalid?", _EDGES, "untold", OF_EDGES)
def contradiction(found: Measured) -> Iterator[Row]:
    """Contradictions of each relation: those under one head, and those across heads."""

    def case(row: Case) -> str:
        cycle = "invalid, though both lie on a cycle of valid edges"
        said = "valid and invalid" if row["kind"] == "edge" else cycle
        return f"{edge(row)} is {said}{_under(row)}"

    curator = (
        "Look at a few: if the text means the same under both heads, have them judged again.",
        "Have the tuples judged again side by side, and keep one answer.",
    )
    data_user = (
        "Let the model read the head, and not the instance and the concept alone.",
        "Leave these tuples out of training and test sets: whatever a model answers is wrong on "
        "some.",
    )
    steps = ("instance", "concept")
    for rows, first, told in _edges(found, "graph_contradictions", "edges", steps):
        yield told(
            sentence=f"{{edges}} of {{of}} edges of {first['relation']} ({{share}}) "
            "{edges|has|have} answers that contradict each other"
            f"{_where_judged(first)}: {cases(rows, case)}.",
            curator=curator[first["one_context"]],
            data_user=data_user[first["one_context"]],
        )


@check(
    "Is any edge denied that follows from two valid ones?",
    _CHAINS,
    "untold",
    OF_EDGES,
    count("chains open", of=NONE),
)
def transitivity(found: Measured) -> Iterator[Row]:
    """Violations of each relation: those under one head, and those across heads."""

    def case(row: Case) -> str:
        path = arrows(row["instance"], row["through"], row["concept"])
        return f"{path} is valid step by step, and {edge(row)} is invalid{_under(row)}"

    steps = (("instance", "concept"), ("instance", "through"), ("through", "concept"))
    further = {"chains": "chains", "open": "chains_open"}
    for rows, first, told in _edges(found, "graph_violations", "denied_edges", *steps, **further):
        yield told(
            sentence=f"{{edges}} of {{of}} denied edges of {first['relation']} ({{share}}) "
            f"{{edges|follows|follow}} from two valid ones{_where_judged(first)}: "
            f"{cases(rows, case)}. {{open}} of {{chains}} chains of two valid edges of the "
            "relation {open|is|are} open: nobody judged whether the first text entails the last.",
            curator="Have the three edges of each case judged again together: one of the three "
            "answers is wrong, or a text means different things in them.",
            data_user="Do not complete the graph by following its edges before these are settled.",
        )


@check("Do any valid edges follow from other valid edges?", _VALID_EDGES, "untold", OF_EDGES)
def redundant_edge(found: Measured) -> Iterator[Row]:
    """The redundant edges of each relation."""
    steps = ("instance", "concept")
    for rows, first, told in _edges(found, "graph_redundant", "valid_edges", steps):
        said = cases(rows, lambda row: f"{edge(row)} by way of {quoted(row['through'])}")
        yield told(
            sentence=f"{{edges}} of {{of}} valid edges of {first['relation']} ({{share}}) "
            f"{{edges|follows|follow}} from others: {said}. That is not wrong by itself, since "
            "people were asked about each.",
            curator="Nothing, unless the edges are to be used as a hierarchy; then leave these "
            "out, since each node needs only its nearest concepts.",
            data_user="Do not count these tuples as independent evidence, and keep them in the "
            "split of the edges that they follow from.",
        )


def _of_no_node(check: Check) -> Check:
    """A check whose findings are about no relation."""

    def rule(measured: Measurements) -> Outcome:
        found = check.rule(measured)
        return replace(found, findings=tuple(replace(one, nodes=()) for one in found.findings))

    return replace(check, rule=rule)


CHECKS = (
    tail_mismatch,
    _of_no_node(head_in_two_splits),
    duplicate_tuple,
    generation_mismatch,
    weak_label,
    contradiction,
    cycle,
    transitivity,
    redundant_edge,
)
"""The checks, in report order."""
