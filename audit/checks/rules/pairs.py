"""unexpected_pair, missing_stratum: nodes together more often than the length of records explains,
and columns that explain such pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import Sparse, row, rows
from audit.base.declared import NONE, Columns, Mark, chance, count, factor, ratio, share
from audit.checks.check import TOP_PARTS
from audit.checks.rows import ALL, Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_apart, carrying_both, labels_apart
from audit.data.unnamed import MOST_VALUES
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Part, times_limit

MOST_NAMED = 3
"""Largest number of earlier finds named in a sentence as explaining part of a pair."""


def _pairs(measured: Measurements) -> Rows:
    """The pairs that the scan found, the strongest first, and those of most children as one.

    One association shows in every pair above and below it. So each pair is compared with what
    records of the same length let expect; the strongest is taken, what it explains is subtracted
    from all pairs around it, and so on ([formulas](methods/pairs.md#surprising-pairs)).

    Told is a pair, neither node above the other, observed at least `excess_ratio` (1.5) times as
    often as length and stronger pairs let expect, with q at most `false_discovery_rate` (0.05) over
    all pairs judged: both on `least_joint` (5) records or more, those that never meet included.
    Columns of `strata` count like length. Pairs that the policy expects, a `missing_companion` rule
    needs, or the hierarchy's own file relates (`relationship` of OBO, such as `part_of`: one below
    the part, the other the whole or above it), are counted apart.

    **Severity.** Note, none to act on first: an association is often knowledge of the field. Nodes
    whose codes lost zeros (`lost_zero`) come last. **Limits.** In clinical data much of what is
    found is medicine, and a common cause, such as age or site, shows until `strata` name it. Rare
    pairs, pairs of few patients, and nodes on more than nine in ten records are not told. Order
    sets and cut (`record_cap`) or repeated (`duplicates`) records make pairs too.
    """
    return Rows(
        measured.excess.family,
        "pairs of labels frequent enough to be judged",
        _rows(measured, measured.excess.found.to_dicts()),
    )


def _rows(measured: Measurements, found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """A row for each found pair; one for all those of most children of one parent."""
    joint = _joint_of_labels(measured, found)
    by_parent: dict[int, list[Mapping[str, Any]]] = {}
    for pair in found:
        by_parent.setdefault(pair["parent"], []).append(pair)
    for pair in found:
        children = [] if pair["parent"] is None else by_parent[pair["parent"]]
        if not children or children[0] is pair:
            yield _row(measured, pair, joint, children)


def _row(
    measured: Measurements,
    pair: Mapping[str, Any],
    joint: Sparse,
    children: Sequence[Mapping[str, Any]],
) -> Row:
    """The row on a pair; or on all ``children``, pairs of children of one parent, if any."""
    names = measured.hierarchy.nodes
    nodes = names[pair["a"]], names[pair["b"]]
    parent = names[pair["parent"]] if children else ""
    return Row(
        nodes=(parent, *nodes) if children else nodes,
        sentence=_sentence(measured, pair, len(children)),
        evidence={
            "instances": pair["instances"],
            "of": measured.n_instances,
            **_observed(measured, pair),
            "expected_length": pair["expected_length"],
            "explained": pair["explained"],
            "ratio": pair["shrunk_ratio"],
            **{name: pair[name] for name in ("ratio_low", "ratio_high", "p_value", "q_value")},
            "rank": pair["rank"],
            "pairs_judged": measured.excess.family,
            **({"pairs": len(children)} if children else {}),
        },
        curator="Look at a sample of these records: is the association known in the field, or is "
        "it a habit of labelling, such as a template? Say in the release notes which it "
        "is; a known pair can be listed in the policy as expected.",
        data_user="Do not read the two nodes as independent evidence: a model can predict one "
        "from the other.",
        strength=pair["strength"] / pair["instances"],
        beyond=times_limit(pair["ratio_low"], measured.policy.excess_ratio.value),
        parts=tuple(_child_part(measured, child) for child in children)
        or _parts(measured, joint, pair),
        key=(parent, "children") if children else (),
        asks=True,
        about=nodes,
        cases=partial(carrying_apart, measured, *nodes),
    )


def _child_part(measured: Measurements, pair: Mapping[str, Any]) -> Part:
    names = measured.hierarchy.nodes
    evidence = {
        "instances": pair["instances"],
        **_observed(measured, pair),
        "explained": pair["explained"],
        "ratio": pair["shrunk_ratio"],
    }
    return Part((names[pair["a"]], names[pair["b"]]), evidence)


def _sentence(measured: Measurements, pair: Mapping[str, Any], n_children: int) -> str:
    describe = measured.hierarchy.describe
    others = ", ".join(
        " with ".join(map(describe, other)) for other in pair["explained_by"][:MOST_NAMED]
    )
    by_group = "" if measured.excess.alike is None else " in {groups} {groups|group|groups}"
    made_of = "" if n_children else "[ ({mostly})]"
    sentence = (
        f"{{instances}} of {{of}} instances{by_group} {{instances|has|have}} "
        f"both {describe(pair['a'])} and {describe(pair['b'])}"
        f"{labels_apart(measured.hierarchy, pair['a'], pair['b'])}{made_of}"
        "[, about {ratio} times as many as chance would bring together in records with as many "
        f"labels{others and f', beyond what {others} explains'} "
        f"({{ratio_low}} to {{ratio_high}}, 95% interval)]."
    )
    if not n_children:
        return sentence
    parent = describe(pair["parent"])
    return f"Most children of {parent} occur together ({{pairs}} pairs); the strongest: {sentence}"


def _observed(measured: Measurements, pair: Mapping[str, Any]) -> Evidence:
    """On how many instances each node of a pair is, and what those with both weigh by groups."""
    grouped = measured.excess.alike is not None
    return {
        **{f"support_{end}": int(measured.support[pair[end]]) for end in ("a", "b")},
        **({"groups": pair["groups"]} if grouped else {}),
        "observed": pair["observed"],
        **({"effective": pair["effective"]} if grouped else {}),
    }


def _joint_of_labels(measured: Measurements, found: Sequence[Mapping[str, Any]]) -> Sparse:
    """Instances by two labels at or below ends of pairs, less any labelled below both labels."""
    below, n = measured.hierarchy.below, len(measured.hierarchy)
    ends = np.array([pair[end] for pair in found for end in ("a", "b")], np.int64)
    wanted = np.unique(rows(below, np.unique(ends)))
    chosen = wanted[measured.direct_support[wanted] > 0].tolist()
    met = (
        measured.pairs.counted.select(
            pl.col("a", "b").cast(pl.Int64), joint=pl.col("joint") - pl.col("joint_entailed")
        )
        .filter(pl.col("a").is_in(chosen) & pl.col("b").is_in(chosen) & (pl.col("joint") > 0))
        .collect(engine="streaming")
    )
    a, b, joint = (column.to_numpy() for column in met.iter_columns())
    upper = csr_array((joint, (a, b)), shape=(n, n))
    return csr_array(upper + upper.T)


def _parts(measured: Measurements, joint: Sparse, pair: Mapping[str, Any]) -> tuple[Part, ...]:
    """The label pairs on most records of a pair; of equal counts none above another one."""
    names, below, of = measured.hierarchy.nodes, measured.hierarchy.below, pair["instances"]
    left, right = (row(below, pair[end]) for end in ("a", "b"))
    met = csr_array(joint[left][:, right]).tocoo()
    pairs = np.stack([left[met.row], right[met.col], met.data])
    order = np.lexsort((pairs[1], pairs[0], -pairs[2]))
    found: list[tuple[int, int, int]] = pairs[:, order].T.tolist()

    def above_an_equal(a: int, b: int, n: int) -> bool:
        others = [(x, y) for x, y, m in found if m == n and (x, y) != (a, b)]
        return any(x in row(below, a) and y in row(below, b) for x, y in others)

    kept = list[Part]()
    for a, b, n in found:
        if len(kept) < TOP_PARTS and not above_an_equal(a, b, n):
            kept.append(Part((names[a], names[b]), {"instances": n, "of": of, "share": n / of}))
    return tuple(kept)


_OF_PAIR = (
    *count("instances support_a support_b", "Instances"),
    *count("observed effective", under="instances"),
    *count("groups", of="groups", under="instances"),
    *factor("explained", "Expected", of="support_a support_b"),
    *ratio(
        "ratio",
        "Times expected",
        of="observed explained",
        ends="ratio_low ratio_high",
        effective="effective",
        mark=Mark(),
    ),
)
UNEXPECTED_PAIR = check_of_rows(
    "unexpected_pair",
    "Which labels occur together more often than the length of records explains?",
    _pairs,
    nodes="Node|With",
    evidence=Columns(
        _OF_PAIR,
        ALL,
        factor("expected_length", of="support_a support_b"),
        count("pairs", of=NONE),
        chance("p_value q_value rank pairs_judged"),
    ),
    of_parts=Columns(_OF_PAIR, count("of"), share("share", of="instances of")),
    denominator="untold",
)


LEAST_SHARE = 0.1
"""Least share of the reported pairs that must vanish within a column for it to be reported."""
LEAST_PAIRS = 2
"""Least number of pairs that must vanish."""


def _explaining(measured: Measurements) -> Rows:
    """Columns, and all of them together, within which reported pairs vanish.

    Pairs are judged again within each column that is no stratum yet, no value being one of its own,
    then within all of them together, as in `unexpected_pair`. A pair *vanishes* where no pair that
    is told then has one end at, above or below its first node and the other so beside its second. A
    column is told if at least two pairs, and a tenth of all, vanish within it; all together, if
    more vanish than within any one.

    Tried are the split, the columns that are named, and the others of the tables that hold the
    labels, with 2 to 20 values, at most one an instance and two instances a value on average; never
    days or texts. Groups, such as patients, are named by `--group` and not tried.

    **Severity.** Note, by the instances of vanishing pairs times their share. **Limits.** A column
    that follows from labels, such as a ward for one disease, explains away true pairs.
    """
    unnamed = measured.loaded.dataset.unnamed
    named = measured.loaded.dataset.instances.select(measured.loaded.columns[1:])
    columns = [
        one
        for one in (*named.iter_columns(), *unnamed.iter_columns())
        if one.name not in measured.policy.strata
    ]
    shared = [
        one.name
        for one in columns
        if 1 < (values := one.drop_nulls().n_unique()) < len(one)
        and (values <= MOST_VALUES or one.name not in unnamed.columns)
    ]
    tried = [(name,) for name in shared] + ([tuple(shared)] if len(shared) > 1 else [])
    tried = tried if len(measured.excess.found) else []
    return Rows(
        len(tried),
        "columns of the instances, and all of them together",
        _vanishing(measured, tried),
        "" if columns else "no column is left that could be a stratum",
    )


def _vanishing(measured: Measurements, tried: list[tuple[str, ...]]) -> Iterator[Row]:
    """A row for each column, and for all where more pairs vanish than within any one."""
    pairs, most, nodes = len(measured.excess.found), 0, measured.hierarchy.nodes
    least = max(LEAST_PAIRS, LEAST_SHARE * pairs)
    for columns in tried:
        vanished, named = measured.vanished_within(columns), " and ".join(columns)
        if len(vanished) >= least and (len(columns) == 1 or len(vanished) > most):
            first = " with ".join(map(measured.hierarchy.describe, vanished.row(0)))
            both = [carrying_both(measured, nodes[a], nodes[b]) for a, b in vanished.iter_rows()]
            instances = np.unique(np.concatenate(both))
            yield Row(
                sentence="{vanished} of the {pairs} reported {pairs|pair|pairs} "
                f"{{vanished|is|are}} explained by {named}: within its values "
                "{vanished|it is|they are} no more frequent than expected. {vanished|It|One} is "
                f"{first}.",
                evidence={"pairs": pairs, "vanished": len(vanished), "instances": len(instances)},
                curator=f"Add {named} to the strata, by --strata or in the policy, if its values "
                "are known before the labels are given; then read the pairs that are left.",
                data_user=f"Do not read these pairs as associations: they follow from {named}.",
                strength=len(vanished) / pairs,
                beyond=times_limit(len(vanished), least),
                key=columns,
                cases=instances,
            )
        most = max(most, len(vanished))


MISSING_STRATUM = check_of_rows(
    "missing_stratum",
    "Does a column (age, ward) explain any reported pair?",
    _explaining,
    needs="instances",
    evidence=Columns(count("pairs vanished", of=NONE), count("instances")),
    denominator="untold",
)
