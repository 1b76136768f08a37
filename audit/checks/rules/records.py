"""empty_instance, principal_position, record_cap: records without labels, out of order, cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy.special import betainc

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, chance, count, text, whole
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import OF_ALL, OF_SOME, PARTS, Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import distinct
from audit.data.mapping import REASONS
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Part, share_evidence, times_limit
from audit.sharing.bins import Bins


def _empty(measured: Measurements) -> Rows:
    """Instances of which no label was kept.

    *Refused*: they had rows, but every row was refused; broken down by the ledger's reasons.
    *Unlabelled*: they had no row at all; a format with one row per label has none for an instance
    without labels.

    **Severity.** Refused: warning, since these instances are unknown and not negative. Unlabelled:
    note, since perhaps no label applied.
    """
    return Rows(measured.n_instances, "instances", _of_empty(measured))


def _of_empty(measured: Measurements) -> Iterator[Row]:
    total, records = measured.n_instances, measured.counts.records
    refused = records.total("all_refused")
    # An instance may have several reasons, and counts for each.
    each = zip(REASONS, records.at("refused", len(REASONS)).tolist(), strict=True)
    reasons = sorted((-n, reason) for reason, n in each if n)[:TOP_PARTS]
    if refused:
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances ({share}) {instances|has|have} no label left, "
            "since all of {instances|its rows|their rows} are blank or were refused.",
            evidence=share_evidence(refused, total),
            curator="Label these instances, or correct what the checks on codes list.",
            data_user="Leave these instances out: they are unknown, not negative.",
            parts=tuple(Part((reason,), {"instances": -n}) for n, reason in reasons),
            key=("refused",),
            cases=partial(_without_label, measured, refused=True),
        )
    if without := measured.ledger.instances_without_labels - refused:
        yield Row(
            sentence="{instances} of {of} instances ({share}) {instances|has|have} no label at "
            "all.",
            evidence=share_evidence(without, total),
            curator="Say whether no label applied to these instances or nobody has labelled them "
            "yet.",
            data_user="Do not read them as negative for every node before you know which it is.",
            key=("unlabelled",),
            cases=partial(_without_label, measured, refused=False),
        )


def _without_label(measured: Measurements, *, refused: bool) -> IntArray:
    """The instances whose labels were all refused, or those that never had one."""
    dataset = measured.loaded.dataset
    empty = np.flatnonzero(np.diff(dataset.direct.indptr) == 0)
    return empty[np.isin(empty, distinct(dataset.refused), invert=not refused)]


def _order(measured: Measurements) -> Rows:
    """Instances with an external cause or a manifestation in first place.

    External causes are E000 to E999. The title of a manifestation says "in diseases", "in
    conditions" or "in disorders", with up to four words between, "classified elsewhere" (or
    "classifiable"), or a rule of `missing_companion` without days and exceptions puts it behind
    another code, as 357.2, 362.0 and 366.41. Instances whose first row was refused do not count.

    **Severity.** Warning. **Limits.** Manifestations whose titles do not say so, such as 425.7, are
    not found. Not applicable without an order, or without such titles.
    """
    integrity, rows = measured.hierarchy.integrity, measured.loaded.dataset.assertions
    first, nodes = rows.filter(pl.col("position") == 1), measured.hierarchy.nodes
    never = None if integrity is None else integrity.never_first
    rules = {} if never is None else _never_first(measured, first["node"].unique(), never)
    misplaced = first.filter(pl.col("node").is_in([*rules]))
    by_node = misplaced.group_by("node").agg(instances=pl.col("instance").n_unique())
    most = by_node.sort(["instances", "node"], descending=[True, False]).head(TOP_PARTS)
    of, cases = first["instance"].n_unique(), distinct(misplaced)
    found = Row(
        severity="warning",
        nodes=tuple(nodes[node] for node in most["node"]),
        sentence="{instances} of {of} instances with a label in first place ({share}) "
        "{instances|has|have} a code there that cannot be the principal diagnosis, an external "
        "cause or a manifestation[, {mostly}].",
        evidence={**share_evidence(len(cases), max(of, 1)), "codes": len(rules)},
        curator="Check the order of these records: a condition belongs in front of its "
        "manifestation or external cause.",
        data_user="Do not read the first label of these records as the reason for the stay.",
        parts=tuple(
            Part((nodes[node],), {"instances": n, "rule": rules[node]})
            for node, n in most.iter_rows()
        ),
        key=("first",),
        cases=cases,
    )
    return Rows(
        of,
        "instances with a label in first place",
        [found] if len(cases) else [],
        first_unmet(
            (never, "no code of this hierarchy is known to be excluded from first place"),
            (rows["position"].is_not_null().any(), "the labels of an instance have no order"),
        ),
    )


def _never_first(
    measured: Measurements, nodes: Iterable[int], never: Callable[[str, str], str | None]
) -> dict[int, str]:
    """Why nodes may not be first: by their classification, or as a companion must precede them."""
    hierarchy = measured.hierarchy
    behind = {
        node: f"a manifestation by the rule: {rule.source.rstrip('.')}"
        for rule in reversed(measured.policy.companions)
        if rule.position == "before" and not rule.excusing and not rule.begins_or_ends
        for node in np.flatnonzero(at_or_below(hierarchy, rule.asking)).tolist()
    }
    asked = ((i, never(hierarchy.nodes[i], hierarchy.titles[i]) or behind.get(i)) for i in nodes)
    return {i: rule for i, rule in asked if rule}


LEAST_LENGTH = 3
"""Shortest length that can be a cap: the expectation needs two shorter lengths."""
LEAST_INSTANCES = 20
"""Least number of instances at a length for it to be tested."""
LEAST_RATIO = 1.5
"""Least ratio of observed to expected instances for a pile to be reported."""
MOST_LONGER = 0.01
"""Largest number of longer instances, as a share of those at the cap, that count as outliers."""
ONE_LENGTH = 0.95
"""Least share of the instances at one length for it to be the format of the data, not a cap."""


class Pile(NamedTuple):
    """The greatest length of some instances, and how many have it, one label fewer (``near``), two
    fewer (``far``) and more; at most ``rise`` times ``near`` are expected."""

    length: int
    at: int
    near: int
    far: int
    longer: int
    expected: float
    rise: float
    p_value: float


_NONE = np.empty(0, np.int64)
_Scope: TypeAlias = tuple[str, str, pl.DataFrame | None, IntArray]
"""Instances that may share a cap, those of a value of a column or, without these, all: the column,
the value, ``instance, length`` (None on counts), and the instances of each length from 0."""


def _caps(measured: Measurements) -> Rows:
    """Greatest lengths with more instances than expected, of all and of values of columns.

    A length is the last position where labels have an order, else the number of rows kept (always
    on counts, for the whole release alone). The greatest length L is the largest with 20 instances
    or more, unless more than 1 % are longer. It is looked for in the release and in each value of
    the split and `strata`; a cap of the release is not told again.

    `expected = n(L-1) * max(1, (n(L-1) + 1) / (n(L-2) + 1))`, an upper bound for log-concave
    distributions. `ratio = n(L) / expected` with the Wilson interval of n(L) / (n(L) + n(L-1)); p
    is the binomial upper tail; Benjamini-Hochberg over the release and its parts. Told from `ratio`
    1.5 and `q` at the policy's rate; not where 95 % have one length, or L is below 3.

    **Severity.** Warning. **Limits.** Of persons' records a cap with fewer than 1,001 at it is not
    told, as up to ten might be longer. A cap in one period is hidden by longer records of another
    unless `strata` name the period.
    """
    scopes, bins = list(_scopes(measured)), measured.rounding.bins("instances")
    judged = [(scope, pile) for scope in scopes if (pile := pile_of(scope[-1], bins))]
    every = int(scopes[0][-1].sum())
    return Rows(every, "instances with labels", _of_caps(measured, judged))


def _scopes(measured: Measurements) -> Iterator[_Scope]:
    """All instances with labels, then those of each value of each column."""
    if measured.instances is None:
        yield "", "", None, measured.counts.records.at("rows", 0)
        return
    by_instance = measured.loaded.dataset.assertions.group_by("instance")
    last = pl.col("position").max().fill_null(0)
    lengths = by_instance.agg(length=pl.max_horizontal(last, pl.len().cast(pl.Int64)))
    yield "", "", lengths, np.bincount(lengths["length"])
    for column in measured.loaded.columns:
        values = measured.loaded.dataset.instances[column].gather(lengths["instance"])
        named = lengths.with_columns(value=values).drop_nulls("value")
        for (value,), part in sorted(named.group_by("value")):
            yield column, str(value), part, np.bincount(part["length"])


def pile_of(counts: IntArray, bins: Bins) -> Pile | None:
    """The greatest length, tested against the two lengths before it.

    If the numbers of instances fall toward it, at most as many are expected as with one label
    fewer; if they rise, at most a rise by the same factor again, as in every log-concave
    distribution. The p value is that of a binomial test of the two lengths.

    Args:
        counts: Instances of each length from 0, shape (n_lengths,).
        bins: How they are told.

    Returns:
        None if the longest instances are few or short, or nearly all instances have that length.
    """
    long = np.flatnonzero(bins.tells & (bins.all_told(counts) >= LEAST_INSTANCES))
    if not len(long) or long[-1] < LEAST_LENGTH:
        return None
    length = int(long[-1])
    at, near, far = (int(counts[length - step]) for step in (0, 1, 2))
    longer = int(counts[length + 1 :].sum())
    (told, beyond), (every, most) = (
        bins.at_worst(*both) for both in ((at, longer), (counts.sum(), counts.max()))
    )
    if beyond > MOST_LONGER * told or most >= ONE_LENGTH * every:
        return None
    rise = max((near + 1) / (far + 1), 1.0)
    p_value = float(betainc(at, near + 1, rise / (1 + rise)))
    return Pile(length, at, near, far, longer, rise * near, rise, p_value)


def _of_caps(measured: Measurements, judged: list[tuple[_Scope, Pile]]) -> Iterator[Row]:
    """A row for each cap; that of all instances, which come first, is not repeated."""
    p_values, capped = [pile.p_value for _, pile in judged], 0
    for (scope, pile), q in significant(measured, judged, p_values, len(judged)):
        if pile.at >= LEAST_RATIO * pile.expected and pile.length != capped:
            yield _cap_row(scope, pile, q, len(judged))
            capped = capped if scope[0] else pile.length


def _cap_row(scope: _Scope, pile: Pile, q_value: float, family: int) -> Row:
    column, value, lengths, counts = scope
    # The interval of observed over expected is that of the share among the two last lengths.
    low, high = (
        end / (1 - end) / pile.rise if end < 1 else None
        for end in wilson(pile.at, pile.at + pile.near)
    )
    verb = "has" if pile.longer < 2 else "have"
    others = f"{pile.longer or 'none'} {verb} more"  # tells none from few: for exact counts alone
    those = f"with the {column} {value!r} and labels" if column else "with labels"
    cases = _NONE if lengths is None else distinct(lengths.filter(length=pile.length))
    return Row(
        severity="warning",
        sentence=f"{{instances}} of {{of}} instances {those} ({{share}}) {{instances|has|have}} "
        "exactly {length} labels[ (at most {expected} expected)][, {others}]: records were "
        "probably cut at {length}.",
        evidence={
            **share_evidence(pile.at, int(counts.sum())),
            "length": pile.length,
            "longer": pile.longer,
            "others": others,
            "one_shorter": pile.near,
            "two_shorter": pile.far,
            "expected": pile.expected,
            "ratio": pile.at / pile.expected if pile.expected else None,
            "ratio_low": low,
            "ratio_high": high,
            "q_value": q_value,
            "family": family,
        },
        curator="Find out whether a form, a bill or an export allows only this many labels, and "
        "since when; say in the release notes which records it cut.",
        data_user="Do not read a missing label on these records as absent, above all one that "
        "would be written last.",
        beyond=times_limit(low or 0.0, LEAST_RATIO),
        key=(*((column, value) if column else ()), str(pile.length)),
        cases=cases,
    )


EMPTY_INSTANCE = check_of_rows(
    "empty_instance",
    "Does every instance have a label?",
    _empty,
    evidence=Columns(OF_ALL),
    of_parts=PARTS,
)
PRINCIPAL_POSITION = check_of_rows(
    "principal_position",
    "Are codes listed first that cannot be a principal diagnosis?",
    _order,
    needs="instances",
    evidence=Columns(OF_SOME, count("codes", of=NONE)),
    of_parts=Columns(count("instances"), text("rule")),
)
RECORD_CAP = check_of_rows(
    "record_cap",
    "Are records cut off at a maximum number of labels?",
    _caps,
    evidence=Columns(
        OF_SOME,
        whole("length"),
        count("longer one_shorter two_shorter"),
        chance("others expected ratio ratio_low ratio_high q_value family"),
    ),
)
