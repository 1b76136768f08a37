"""Consistency of the tables of a run: nodes, pairs, residuals and findings."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from audit.base.errors import first_cases
from audit.disclosure import Cell, carried, labelled, labelled_below, only_residual_below
from audit.results.published_cells import evidence_cells, pair_cells
from audit.results.result import AuditResult


def disagreements(result: AuditResult) -> Iterator[str]:
    """Describe each contradiction between the tables; yields nothing if they are consistent.

    A node's support is at least its number of labels and at most the support of its parents, a pair
    has the supports of its nodes and no more instances than either, and a finding has the counts of
    the tables.

    Args:
        result: The run, read back.

    Takes the time of reading the pair table once.
    """
    faults = {
        "nodes with more labels than instances": _too_many_labels(result),
        "nodes carried by more instances than a parent": _above_a_parent(result),
        "pairs that have not the supports of their nodes": _other_supports(result),
        "pairs with more instances than a node of theirs": _beyond_supports(result),
        "parents with other counts below them than they can have": _beyond_parents(result),
        "findings with other counts than the tables": _other_findings(result),
    }
    for fault, cases in faults.items():
        named = list(cases)
        if named:
            yield f"{fault}: {first_cases(named)}"


def _too_many_labels(result: AuditResult) -> Iterator[str]:
    wrong = (pl.col("direct") > pl.col("support")) | (pl.col("support") > _instances(result))
    yield from result.nodes.filter(wrong)["node"]


def _instances(result: AuditResult) -> int:
    return int(result.ledger["instances"])


def _above_a_parent(result: AuditResult) -> Iterator[str]:
    support = result.nodes.select("node", "support")
    beside = result.edges.join(support, left_on="child", right_on="node").join(
        support, left_on="parent", right_on="node", suffix="_parent"
    )
    yield from beside.filter(pl.col("support") > pl.col("support_parent"))["child"].unique().sort()


def _other_supports(result: AuditResult) -> Iterator[tuple[str, str]]:
    support = result.nodes.lazy().select("node", "support")
    beside = result.pairs.select("a", "b", "support_a", "support_b")
    for side in ("a", "b"):
        own = support.rename({"node": side, "support": f"own_{side}"})
        beside = beside.join(own, on=side, how="left")
    wrong = pl.any_horizontal(
        pl.col(f"support_{side}").ne_missing(pl.col(f"own_{side}")) for side in ("a", "b")
    )
    yield from _ends(beside.filter(wrong))


def _beyond_supports(result: AuditResult) -> Iterator[tuple[str, str]]:
    least = pl.min_horizontal("support_a", "support_b")
    wrong = (pl.col("joint") > least) | (pl.col("joint_entailed") > pl.col("joint"))
    yield from _ends(result.pairs.filter(wrong))


def _ends(pairs: pl.LazyFrame) -> Iterator[tuple[str, str]]:
    ends = pairs.select("a", "b").sort("a", "b").collect(engine="streaming")
    yield from ((a, b) for a, b in ends.iter_rows())


def _beyond_parents(result: AuditResult) -> Iterator[str]:
    support = result.nodes.select(parent="node", carriers="support")
    beside = result.residuals.join(support, on="parent", how="left")
    wrong = (pl.col("k") > pl.col("n")) | ~(pl.col("n") <= pl.col("carriers")).fill_null(False)
    yield from beside.filter(wrong)["parent"].unique().sort()


def _other_findings(result: AuditResult) -> Iterator[str]:
    """Findings whose counts of nodes, pairs and residual use are not those of the tables."""
    release = result.release
    counts_of = {
        finding.id: (evidence_cells(release, check.name, finding.nodes, finding.key), finding)
        for check in result.checks
        for finding in check.findings
    }
    counts = _counts(result, {f.nodes[-2:] for c, f in counts_of.values() if "support_a" in c})
    for id_, (cells, finding) in counts_of.items():
        known = {n: counts[cell] for n, cell in cells.items() if cell in counts}
        if any(n in finding.evidence and finding.evidence[n].value != known[n] for n in known):
            yield id_


def _counts(result: AuditResult, pairs: set[tuple[str, ...]]) -> dict[Cell, int]:
    """Counts of the nodes, of residual use, and of some pairs, by their cells."""
    counts = dict[Cell, int]()
    for node, support, direct in result.nodes.select("node", "support", "direct").iter_rows():
        counts |= {carried(node): support, labelled(node): direct}
    throughout = result.residuals.filter(pl.col("residual") == "all")
    for parent, k, n in throughout.select("parent", "k", "n").iter_rows():
        counts |= {only_residual_below(parent): k, labelled_below(parent): n}
    return counts | _joints(result, pairs)


def _joints(result: AuditResult, pairs: set[tuple[str, ...]]) -> dict[Cell, int]:
    release = result.release
    wanted = pl.LazyFrame(
        [(min(pair), max(pair)) for pair in sorted(pairs)],
        schema={"a": pl.String, "b": pl.String},
        orient="row",
    )
    rows = result.pairs.join(wanted, on=["a", "b"]).select("a", "b", "joint", "joint_entailed")
    return {
        (cell := pair_cells(release, a, b)["instances"]): joint - entailed * cell.differing
        for a, b, joint, entailed in rows.collect(engine="streaming").iter_rows()
    }
