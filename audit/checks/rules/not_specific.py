"""not_specific: labels that are headings or roots, although more specific nodes exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.base.declared import NONE, Columns, chance, count, estimate, setting, share
from audit.checks.check import TOP_PARTS, Check, Limit, Outcome, first_unmet
from audit.checks.shared.carriers import named
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS, ON_DAY
from audit.checks.shared.label_findings import (
    ON_THEIR_DAY,
    among_not_dated,
    cases_not_dated,
    cases_on_day,
    finding_of_labels,
    finding_on_day,
    not_dated,
    not_dated_sentence,
)
from audit.checks.shared.labels_as_written import integrity_of, mapped
from audit.checks.shared.proposals import by_candidates, most_carried_first, of_lines, together
from audit.engine.pairs.record_counts import only_among
from audit.engine.statistics.two_rates import MeanLoss, mean_loss
from audit.hierarchies.coding import Integrity
from audit.measure.measure import Measurements
from audit.measure.validity import HEADING
from audit.results.findings import Finding, Part, times_limit
from audit.results.since import SHALLOWER

_NAME = "not_specific"
UNINFORMATIVE = "uninformative"
"""Key of the finding on such instances."""
_NEVER_COMPLETE = "Look up what these records say, and complete the codes: they were cut."
_DATA_USER = "Use these labels as headings: it is not known which code below them was meant."


def run(measured: Measurements) -> Outcome:
    """Report labels that were headings on their day, by the code dates that the policy names.

    For rows without a date, report labels at headings of the code sets that are listed completely.
    Without such a list, report instances whose labels are all roots or similarly uninformative.
    Beside these, report that labels are less deep than in the reference.
    """
    integrity, read = integrity_of(measured), measured.ledger.rows_read
    listed = integrity is not None and bool(measured.hierarchy.complete_tables)
    can_tell = listed or measured.policy.code_dates is not None
    open_nodes = bool(measured.hierarchy.uninformative.any())
    return Outcome(
        denominator=read,
        denominator_unit="rows",
        findings=(
            *_on_their_day(measured),
            *(() if integrity is None or not listed else _in_the_lists(measured, integrity)),
            *(() if listed else _uninformative(measured)),
            *shallower(measured),
        ),
        not_applicable=first_unmet(
            (
                can_tell or open_nodes,
                "the hierarchy has one node, and no complete list says which codes are assignable",
            ),
        ),
    )


def _on_their_day(measured: Measurements) -> tuple[Finding, ...]:
    return finding_on_day(
        measured,
        HEADING,
        check=_NAME,
        statement="{rows} of {of} dated rows ({share}) {rows|has|have} a heading as code "
        "({labels} labels), where more specific ones were valid on {rows|its|their} day "
        "({column}).",
        curator="Find out whether digits were cut on the way, or whether a form allowed headings, "
        "and code these records again where the source allows it.",
        data_user=_DATA_USER,
    )


def _in_the_lists(measured: Measurements, integrity: Integrity) -> Iterator[Finding]:
    """A note on each complete code set with labels at its headings."""
    headings = not_dated(measured, _headings(measured, integrity))
    for table in sorted(measured.hierarchy.complete_tables):
        labels = headings.filter(pl.col("code_set") == table)
        years = integrity.years
        once = None if years is None else sum(label in years for label in labels["label"])
        yield from finding_of_labels(
            measured,
            labels,
            check=_NAME,
            key=table,
            severity="note",
            statement="{rows} of {of} rows ({share}) {rows|has|have} a heading as code: {labels} "
            f"codes[, {{mostly}},] that {integrity.editions.get(table, f'the list of {table}')} "
            f"divides into more specific ones; {_once_complete(once, len(labels))}."
            f"{not_dated_sentence(measured)}",
            curator=_NEVER_COMPLETE
            if once == 0
            else "Say in the release notes which editions the codes are of. Where the more "
            "specific codes existed already when a record was coded, the label was cut or left "
            "open.",
            data_user=_DATA_USER,
            more={
                **among_not_dated(measured),
                **({} if once is None else {"once_valid": once}),
            },
        )


def _once_complete(once: int | None, labels: int) -> str:
    """How many of some headings were complete codes in an earlier edition, where one tells."""
    if once is None:
        return "{labels|it|they} may have been valid when coded"
    if once == labels:
        return "{labels|it was a complete code|all were complete codes} in an earlier edition"
    if not once:
        return "{labels|it was a complete code|they were complete codes} in no known edition"
    return (
        "{once_valid} of them {once_valid|was a complete code|were complete codes} in an earlier "
        "edition"
    )


def _headings(measured: Measurements, integrity: Integrity) -> pl.DataFrame:
    """``line, label, rows, instances, code_set`` of labels that are not assignable."""
    mappings = mapped(measured)
    code_sets = {
        node: _code_set_below(measured, integrity, node)
        for node in mappings["node"].unique()
        if not measured.hierarchy.assignable[measured.hierarchy.index(node)]
    }
    return mappings.select(
        "line",
        "rows",
        "instances",
        label="node",
        code_set=pl.col("node").replace_strict(code_sets, default=None, return_dtype=pl.String),
    ).drop_nulls("code_set")


def _code_set_below(measured: Measurements, integrity: Integrity, node: str) -> str | None:
    """The code set of the first assignable node below a node; None where there is none."""
    hierarchy = measured.hierarchy
    below = hierarchy.descendants(node)
    assignable = (code for code in below if hierarchy.assignable[hierarchy.index(code)])
    return next(map(integrity.table_of, assignable), None)


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with such a label (on its day, for dated rows), or with only such labels.

    Of a loss of depth, those whose labels are less deep than those of the reference do.
    """
    if finding.key == SHALLOWER[1]:
        return cases_shallower(measured, finding)
    if finding.key == (UNINFORMATIVE,):
        return np.flatnonzero(
            only_among(measured.loaded.dataset.direct, measured.hierarchy.uninformative)
        )
    integrity = integrity_of(measured)
    if finding.key == (ON_THEIR_DAY,) or integrity is None:
        return cases_on_day(measured, HEADING)
    of_table = pl.col("code_set") == finding.key[0]
    return cases_not_dated(measured, _headings(measured, integrity).filter(of_table))


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The codes below a heading that is a label, where a complete list says that it is none."""
    integrity = integrity_of(measured)
    if integrity is None or finding.key[0] not in measured.hierarchy.complete_tables:
        return together([])
    of_table = pl.col("code_set") == finding.key[0]
    nodes = _headings(measured, integrity).filter(of_table).select("line", node="label")
    written = mapped(measured).select("line", "label", "table")
    below = {
        one: most_carried_first(measured, _codes_below(measured, one))
        for one in nodes["node"].unique()
    }
    candidates = pl.Series("candidates", [below[one] for one in nodes["node"]], pl.List(pl.String))
    found = of_lines(measured, nodes.with_columns(candidates).join(written, on="line"))
    return together(
        by_candidates(
            measured,
            found.filter(pl.col("candidates").list.len() > 0),
            "it is a heading; this is a code below it",
            of_one="it is a heading, and this is the only code below it",
        )
    )


def _codes_below(measured: Measurements, node: str) -> list[str]:
    hierarchy = measured.hierarchy
    return [
        one for one in hierarchy.descendants(node) if hierarchy.assignable[hierarchy.index(one)]
    ]


def _uninformative(measured: Measurements) -> tuple[Finding, ...]:
    """A note on instances with uninformative labels only, with the nodes concerned."""
    touched = measured.counts.records.total("uninformative")
    if not touched:
        return ()
    support, labelled = measured.direct_support, measured.labelled
    used = np.flatnonzero(measured.hierarchy.uninformative & (support > 0))
    used = used[np.lexsort((used, -support[used]))]
    ids = measured.hierarchy.nodes
    return (
        Finding(
            check=_NAME,
            severity="note",
            nodes=tuple(ids[node] for node in used[:TOP_PARTS].tolist()),
            statement="{instances} of {labelled} instances with labels ({instances_share}) "
            f"{{instances|has|have}} no label but {_names(measured, used)}, which "
            "{instances|says|say} little.",
            evidence={
                "instances": touched,
                "labelled": labelled,
                "instances_share": touched / labelled,
            },
            curator="Find out what such a label means (often that nothing is known), and say so "
            "in the release notes; or leave the instance without a label.",
            data_user="Do not count these instances as described: nothing more specific is known "
            "about them, and a model that answers with a root is right about them "
            "without saying anything.",
            touched=touched,
            parts=tuple(
                Part((ids[node],), {"labelled": int(support[node])})
                for node in used[:TOP_PARTS].tolist()
            ),
            key=(UNINFORMATIVE,),
        ),
    )


def _names(measured: Measurements, used: IntArray) -> str:
    """The nodes in words, in node order, which tells nothing of their numbers."""
    return named(measured.hierarchy, [measured.hierarchy.nodes[i] for i in np.sort(used).tolist()])


def shallower(measured: Measurements) -> tuple[Finding, ...]:
    """A note where labels are less deep than in the reference; none without one to compare with.

    It is found where the loss of mean depth is above the policy's limit and its p value at most the
    policy's rate: a family of one comparison.
    """
    policy, found = measured.policy, _depth_loss(measured)
    if found is None or found.lost <= policy.depth_loss.value:
        return ()
    if found.p_value > policy.false_discovery_rate.value:
        return ()
    return (_finding(measured, found),)


def _depth_loss(measured: Measurements) -> MeanLoss | None:
    before = None if measured.reference is None else measured.reference.depths
    if measured.instances is None or before is None:
        return None
    sums, sizes = _by_instance(measured)
    group_of = measured.instances.group_of
    if group_of is not None:
        sums = np.bincount(group_of, weights=sums).astype(np.float64)
        sizes = np.bincount(group_of, weights=sizes).astype(np.float64)
    here = np.bincount(measured.hierarchy.depth, weights=measured.direct_support)
    there = sizes > 0
    return mean_loss(sums[there], sizes[there], here.astype(np.int64), before.labels, before.units)


def _by_instance(measured: Measurements) -> tuple[FloatArray, FloatArray]:
    """Sum of the depths of the labels of each instance, and their number."""
    direct = measured.loaded.dataset.direct.astype(np.float64)
    return direct @ measured.hierarchy.depth, direct @ np.ones(len(measured.hierarchy))


def _finding(measured: Measurements, found: MeanLoss) -> Finding:
    check, key = SHALLOWER
    return Finding(
        check=check,
        severity="note",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="Labels are more general than in the reference[: mean depth {depth}, there "
        "{depth_before}][, a loss of {lost}][ (95% interval {lost_low} to {lost_high})].",
        evidence={
            "labelled": measured.labelled,
            "depth": found.mean,
            "depth_before": found.before,
            "lost": found.lost,
            "lost_low": found.low,
            "lost_high": found.high,
            "p_value": found.p_value,
            "family": 1,
            "limit": measured.policy.depth_loss.value,
        },
        curator="Look at the nodes whose labels became fewer: if labels were cut or left open, "
        "code them again; if the mix of instances changed, say so in the release notes.",
        data_user="Do not compare the specific nodes of the two releases: some of their labels "
        "may now be at the parents.",
        touched=measured.labelled,
        beyond=times_limit(found.low, measured.policy.depth_loss.value),
        key=key,
    )


def cases_shallower(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose labels are less deep on average than those of the reference."""
    sums, sizes = _by_instance(measured)
    return np.flatnonzero((sizes > 0) & (sums < finding.evidence["depth_before"] * sizes))


CHECK = Check(
    _NAME,
    "Are labels too general, where more specific ones exist?",
    run,
    limits=(
        Limit("lost", ">", "depth_loss", shown_as="limit"),
        Limit("p_value", "<=", "false_discovery_rate"),
    ),
    cases=cases,
    evidence=Columns(
        OF_SOME_ROWS,
        ON_DAY,
        count("once_valid", of=NONE),
        count("instances labelled"),
        share("instances_share", of="instances labelled"),
        estimate(
            "depth depth_before lost lost_low lost_high",
            n="labelled",
            reason="means over labels, whose number is no part of a total",
        ),
        chance("p_value family"),
        setting("limit"),
    ),
    of_parts=Columns(LABEL_PARTS.values(), count("labelled")),
    denominator="rows",
    proposes=proposes,
)
