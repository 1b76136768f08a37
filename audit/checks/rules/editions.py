"""retired_code, not_specific: codes that were not valid on their day, and those too general."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, chance, count, estimate, setting, share
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import Row, Rows
from audit.checks.shared.carriers import named
from audit.checks.shared.label_findings import (
    LABEL_PARTS,
    OF_SOME_ROWS,
    ON_DAY,
    among_not_dated,
    check_of_labels,
    of_dated,
    of_labels,
)
from audit.checks.shared.proposals import by_candidates
from audit.checks.shared.written_labels import READ, UNEXPLAINED, integrity_of, written_labels
from audit.engine.pairs.record_counts import only_among
from audit.engine.statistics.two_rates import mean_loss
from audit.measure.measure import Measurements
from audit.measure.validity import HEADING, INVALID
from audit.results.findings import Part, times_limit
from audit.results.since import SHALLOWER


def _retired(measured: Measurements) -> Rows:
    """Codes that were not valid on their day, that this edition has not, or that were replaced.

    - *Replaced*: labels that the hierarchy itself
      [retired](guides/own_hierarchy.md#obsolete-nodes), with what replaced them. Kept where that is
      exactly one node, else refused as `retired_code`; chains are followed to the end.
    - *On their day*, with `code_dates`: a dated row counts when neither its code nor one strictly
      below it was valid. A more specific code that was valid makes it `not_specific`. `of` are the
      dated rows, `not_dated` the others.
    - *In another edition*: all other rows whose labels the edition lacks and another had, with
      their years, kept below the nearest node that their digits name.

    **Severity.** Warning where the hierarchy names a successor, and on days; else note. **Limits.**
    Shifted days make verdicts noise; days in the future are refused. Without days a mistyped code
    that was valid once looks retired. Editions before FY1997 (ICD-10-CM: FY2014) are not covered.
    """
    coding, can_tell = measured.hierarchy.coding, integrity_of(measured).editions
    explained = written_labels(measured).filter(pl.col("fault") != "")["node"].drop_nulls()
    dated = of_dated(
        measured,
        INVALID,
        sentence="{rows} of {of} dated rows ({share}) {rows|has|have} a code that was not "
        "valid on {rows|its|their} day ({column}): {labels} codes, retired before or introduced "
        "later.",
        curator="Look up which code was valid on these days, and whether the column holds the day "
        "of coding.",
        data_user="Trust their category more than their last digits; their meaning may differ "
        "from that in records coded by the edition of their day.",
        without=explained.to_list(),
    )
    lacking = "this hierarchy names neither an edition of its lists of codes nor a code that it "
    known = can_tell or measured.policy.code_dates or (coding is not None and coding.retired)
    return Rows(
        measured.ledger.rows_read,
        "rows",
        (*dated, *_unlisted(measured), *_replaced(measured)),
        "" if known else f"{lacking}retired",
    )


def _unlisted(measured: Measurements) -> Iterator[Row]:
    """A row on codes that the edition lacks and others have."""
    integrity = integrity_of(measured)
    edition, valid = (
        pl.col(column).replace_strict(table, default=None, return_dtype=pl.String)
        for column, table in (("code_set", integrity.editions), ("node", integrity.years or {}))
    )
    lacked = written_labels(measured).filter(UNEXPLAINED).with_columns(edition=edition, valid=valid)
    own = lacked.select("line", "rows", "instances", "edition", "valid", label="node")
    labels, not_dated, more = among_not_dated(measured, own.drop_nulls("edition"))
    editions = " and ".join(labels["edition"].unique().sort())
    yield from of_labels(
        measured,
        labels,
        key="unlisted",
        severity="note",
        sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} codes that "
        f"{editions} does not list, though other editions do[, {{mostly}}]. {{labels|It was|They "
        f"were}} kept below the category that {{labels|its|their}} digits name.{not_dated}",
        curator="Look the codes up in the edition that was valid when they were assigned.",
        data_user="Trust their category more than their last digits.",
        more=more,
    )


def _replaced(measured: Measurements) -> Iterator[Row]:
    """A row on labels that the hierarchy has retired, with its successors."""
    hierarchy = measured.hierarchy
    successors = {} if hierarchy.coding is None else hierarchy.coding.retired
    labels = written_labels(measured).filter(READ, pl.col("label").is_in([*successors]))
    given = [successors[label] for label in labels["label"]]
    known = [[node for node in nodes if node in hierarchy] for nodes in given]
    named = [
        " or ".join([*map(hierarchy.describe, map(hierarchy.index, own)), *others])
        for own, nodes in zip(known, given, strict=True)
        for others in [[f"{node}, retired too" for node in nodes if node not in hierarchy]]
    ]
    labels = labels.with_columns(
        may_stand_for=pl.Series(
            [one or "nothing that the hierarchy names" for one in named], dtype=pl.String
        ),
        candidates=pl.Series(known, dtype=pl.List(pl.String)),
    )
    kept = len(labels.drop_nulls("node"))
    yield from of_labels(
        measured,
        labels,
        key="replaced",
        severity="warning",
        sentence="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy has retired; {kept} {kept|was|were} kept at the only node that took "
        "{kept|its|their} place, and {refused} {refused|was|were} refused.",
        curator="Use the successor instead, and decide where several are possible.",
        data_user="Labels that were merged into one node can no longer be distinguished; rows "
        "that were refused count nowhere else.",
        more={"kept": kept, "refused": len(labels) - kept},
        proposes=partial(
            by_candidates,
            measured,
            labels,
            "the hierarchy retired it in favour of several",
            of_one="the hierarchy retired it in favour of this one alone",
        ),
    )


_DATA_USER = "Use these labels as headings: it is not known which code below them was meant."


def _too_general(measured: Measurements) -> Rows:
    """Labels that are too general where more specific ones exist, by what is known of them.

    - *On their day*, with `code_dates`: a dated row whose code was not valid on the day, but one
      strictly below it was. Else `retired_code` tells it. `of` are the dated rows, `not_dated` the
      others.
    - *At headings*, in a code set that is listed completely: labels that are not assignable, with
      an assignable node below; of ICD-9-CM, how many of them were complete codes in an earlier
      edition. One finding a code set.
    - *Uninformative*, elsewhere: instances all of whose labels are the root, or nodes above more
      than half of all leaves; of several tops those with k of n leaves below where k^2 > n.
    - *Less deep*, with `--reference`: a loss of the mean depth of all labels above `depth_loss`
      (0.25) with p at most `false_discovery_rate`
      ([formula](methods/drift.md#depth-of-labels-against-a-reference)). Not with another hierarchy,
      fewer than 11 groups or instances, or on counts.

    **Severity.** Warning on days, else note: 585 was a code until October 2005. **Limits.** Shifted
    days make the warning noise. `389` may be 038.9: read `lost_zero` first. A loss of depth may
    come from other instances.
    """
    listed = sorted(measured.hierarchy.complete_tables if measured.hierarchy.integrity else ())
    dated = of_dated(
        measured,
        HEADING,
        sentence="{rows} of {of} dated rows ({share}) {rows|has|have} a heading as code "
        "({labels} labels), where more specific ones were valid on {rows|its|their} day "
        "({column}).",
        curator="Find out whether digits were cut on the way, or whether a form allowed headings, "
        "and code these records again where the source allows it.",
        data_user=_DATA_USER,
    )
    headings = _of_lists(measured, listed) if listed else _uninformative(measured)
    known = listed or measured.policy.code_dates or measured.hierarchy.uninformative.any()
    lacking = "the hierarchy has one node, and no complete list says which codes are assignable"
    return Rows(
        measured.ledger.rows_read,
        "rows",
        (*dated, *headings, *_shallower(measured)),
        first_unmet((known, lacking)),
    )


def _of_lists(measured: Measurements, listed: Sequence[str]) -> Iterator[Row]:
    """A note on the labels at headings of each complete code set."""
    integrity, headings = integrity_of(measured), _headings(measured)
    for table in listed:
        own = headings.filter(code_set=table).select("line", "rows", "instances", label="node")
        labels, not_dated, more = among_not_dated(measured, own)
        years, told = integrity.years, "{labels|it|they} may have been valid when coded"
        once = 0 if years is None else sum(label in years for label in labels["label"])
        if years is not None:
            more = {**more, "once_valid": once}
            told = (
                "{once_valid} of them {once_valid|was a complete code|were complete codes} in an "
                "earlier edition"
            )
        yield from of_labels(
            measured,
            labels,
            key=table,
            severity="note",
            sentence="{rows} of {of} rows ({share}) {rows|has|have} a heading as code: {labels} "
            f"codes[, {{mostly}},] that {integrity.editions.get(table, f'the list of {table}')} "
            f"divides into more specific ones; {told}.{not_dated}",
            curator="Look up what these records say, and complete the codes: they were cut."
            if years is not None and not once
            else "Say in the release notes which editions the codes are of. Where the more "
            "specific codes existed already when a record was coded, the label was cut or left "
            "open.",
            data_user=_DATA_USER,
            more=more,
        )


def _headings(measured: Measurements) -> pl.DataFrame:
    """Labels that are not assignable, with ``code_set``, that of the codes below."""
    hierarchy, index = measured.hierarchy, measured.hierarchy.index
    labels = written_labels(measured).drop_nulls("node").drop("code_set")
    sets = dict[str, str | None]()
    for node in labels["node"].unique():
        codes = (one for one in hierarchy.descendants(node) if hierarchy.assignable[index(one)])
        if not hierarchy.assignable[index(node)] and (first := next(codes, None)):
            sets[node] = integrity_of(measured).table_of(first)
    of_node = pl.col("node").replace_strict(sets, default=None, return_dtype=pl.String)
    return labels.with_columns(code_set=of_node).drop_nulls("code_set")


def _uninformative(measured: Measurements) -> Iterator[Row]:
    """A note on instances with uninformative labels only, with the nodes concerned."""
    touched, labelled = measured.counts.records.total("uninformative"), measured.labelled
    if not touched:
        return
    support, ids = measured.direct_support, measured.hierarchy.nodes
    vague = measured.hierarchy.uninformative
    used = np.flatnonzero(vague & (support > 0))
    # In node order, which tells nothing of their numbers.
    names = named(measured.hierarchy, [ids[node] for node in used.tolist()])
    most = used[np.lexsort((used, -support[used]))][:TOP_PARTS].tolist()
    yield Row(
        nodes=tuple(ids[node] for node in most),
        sentence="{instances} of {labelled} instances with labels ({instances_share}) "
        f"{{instances|has|have}} no label but {names}, which {{instances|says|say}} little.",
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
        parts=tuple(Part((ids[node],), {"labelled": int(support[node])}) for node in most),
        key=("uninformative",),
        cases=lambda: np.flatnonzero(only_among(measured.loaded.dataset.direct, vague)),
    )


def _shallower(measured: Measurements) -> Iterator[Row]:
    """A note where labels are surely less deep than in the reference, by more than the limit."""
    before = None if measured.reference is None else measured.reference.depths
    if measured.instances is None or before is None:
        return
    depth, direct = measured.hierarchy.depth, measured.loaded.dataset.direct.astype(np.float64)
    own = direct @ depth, direct @ np.ones(len(depth))
    group_of = measured.instances.group_of
    sums, sizes = (
        one if group_of is None else np.bincount(group_of, one).astype(np.float64) for one in own
    )
    here = np.bincount(depth, weights=measured.direct_support).astype(np.int64)
    there, policy = sizes > 0, measured.policy
    found = mean_loss(sums[there], sizes[there], here, before.labels, before.units)
    limit = policy.depth_loss.value
    if found is None or found.lost <= limit or found.p_value > policy.false_discovery_rate.value:
        return

    def cases() -> IntArray:
        return np.flatnonzero((own[1] > 0) & (own[0] < found.before * own[1]))

    yield Row(
        sentence="Labels are more general than in the reference[: mean depth {depth}, there "
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
            "limit": limit,
        },
        curator="Look at the nodes whose labels became fewer: if labels were cut or left open, "
        "code them again; if the mix of instances changed, say so in the release notes.",
        data_user="Do not compare the specific nodes of the two releases: some of their labels "
        "may now be at the parents.",
        touched=measured.labelled,
        beyond=times_limit(found.low, limit),
        key=SHALLOWER[1],
        cases=cases,
    )


RETIRED_CODE = check_of_labels(
    "retired_code",
    "Are codes used that were not valid at the time, or that no list has?",
    _retired,
    evidence=Columns(OF_SOME_ROWS, ON_DAY, count("kept refused", of=NONE)),
)
NOT_SPECIFIC = check_of_labels(
    "not_specific",
    "Are labels too general, where more specific ones exist?",
    _too_general,
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
)
