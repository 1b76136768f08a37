"""Importance alignment: do models decide for the reasons that people give?

Definitions are those of *To what extent do human explanations of model behavior align with actual
model behavior?* (Prasad et al.), equations 1 to 7 and section 5; docs/methods/agreement.md says
what was decided where the paper leaves room. Its oracles are *hard*, words of a free-text
explanation; *expert*, the share of annotators who marked a token; *soft*, the absolute scores of an
explanation-informed model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr

from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.rows import (
    by_row,
    clustered_means,
    fisher,
    pearson,
    q_values,
    ranking,
)
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema
from audit.base.errors import InputError, first_cases

SUBSETS = ("all", "right", "wrong", "common")
"""All examples, those that a model gets right, those it gets wrong, those that all get wrong."""
Informed = Mapping[str, Sequence[str]]
"""Per model the names of the explanation-informed models that are its soft oracle."""
SOFT = "soft"
LEAST_TOKENS = 4
"""Fewest tokens that are correlated: of two tokens, the correlation is always 1 or -1."""
BY = ["method", "model", "oracle", "subset"]
"""What a line of Delta-A is about."""
_ROUNDS = 60
"""Rounds of exchanges at random, before those that are left exchange one by one."""
NOT_BORROWED = (
    "no informed model has read the explanation of another example (rows called borrowed)"
)


def with_examples(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows, which must be sorted by ``id, target``, with ``row`` (place), ``example``, ``cluster``.

    An example is an instance and target label. It is in the cluster of its group, or of its
    instance if it has none, since the targets of one instance share its text. A row is ``right``
    where the model gives the target as it is in truth, ``wrong`` where it does not, and neither if
    either is unknown.
    """
    alone, right = pl.col("group").is_null(), pl.col("gold") == pl.col("predicted")
    named = pl.when(alone).then("i" + pl.col("id")).otherwise("g" + pl.col("group"))
    return rows.with_columns(
        row=pl.int_range(pl.len()),
        example=pl.struct("id", "target").rle_id().cast(pl.Int64),
        cluster=named,
        right=right.fill_null(False),
        wrong=(~right).fill_null(False),
    ).with_columns(cluster=pl.col("cluster").first().over("example").rank("dense").cast(pl.Int64))


def judged(rows: pl.DataFrame, informed: Informed = MappingProxyType({})) -> pl.DataFrame:
    """Rows of `with_examples`, with evidence or without: none borrowed, none of an informed model.

    A wrong row is ``common`` where each of the models left has a wrong row of its example with each
    of its seeds; ``all`` is true. InputError if a model that ``informed`` names has no rows.
    """
    known = rows["model"].unique().sort()
    oracles = {name for names in informed.values() for name in names}
    if missing := sorted({*informed, *oracles} - {*known}):
        found = f"no rows of {first_cases(missing)} among {first_cases(known)}"
        raise InputError("each model of the soft oracle must have rows", found=found)
    run = pl.struct("model", "seed")
    own = rows.filter(~pl.col("borrowed") & ~pl.col("model").is_in(oracles))
    missed = run.filter("wrong").n_unique().over("example")
    return own.with_columns(all=True, common=pl.col("wrong") & (missed == run.n_unique()))


def aligned_rows(
    rows: pl.DataFrame, kind: str, informed: Informed, *, draws: int, seed: int
) -> pl.DataFrame:
    """Agreement of each judged row of `with_examples` with each oracle (equations 5 and 6).

    Without lists, with ``oracle``; ``c``, null where it is undefined; ``difference`` from its mean
    by explanations of other examples, the ``undefined`` left out, and ``difference_zeros`` with 0
    for these. People's oracle takes ``draws`` of them at random by ``seed``, the same for all
    methods and models; the soft oracle those that its borrowed rows have read.
    """
    own, of_rows = judged(rows, informed), dict[str, pl.DataFrame]()
    if kind:
        there = own.drop_nulls("marks").select("row", "scores", "marks")
        c = by_row(there, ["scores", "marks"], _correlated)
        drawn = _baseline(own.join(c, on="row", how="left", maintain_order="left"), draws, seed)
        of_rows[people_oracle(kind)] = c.join(drawn, on="row", how="left")
    if informed:
        pairs = by_row(_soft_pairs(rows, own, informed), ["scores", "soft"], _correlated)
        each = pairs.group_by("row", "read", maintain_order=True).agg(
            total=pl.col("c").sum(), defined=pl.col("c").count(), draws=pl.len()
        )
        c = each.filter(~pl.col("read")).select("row", c=_over("total", "defined"))
        drawn = each.filter("read").drop("read")
        of_rows[SOFT] = c.join(drawn, on="row", how="full", coalesce=True)
    plain, parts = own.drop(pl.selectors.list()), list[pl.DataFrame]()
    for oracle, of in of_rows.items():
        of = of.select("row", "c", "total", "defined", "draws")
        told = plain.join(of, on="row", how="left", maintain_order="left")
        counts = pl.col("defined", "draws").fill_null(0).cast(pl.Int64)
        parts.append(told.with_columns(counts, oracle=pl.lit(oracle)))
    return pl.concat(parts).with_columns(
        difference=pl.col("c") - _over("total", "defined"),
        difference_zeros=pl.col("c") - _over("total", "draws"),
        undefined=pl.col("draws") - pl.col("defined"),
    )


def people_oracle(kind: str) -> str:
    """Name of the oracle that a kind of evidence makes: ``hard`` of text, else ``expert``."""
    return "hard" if kind == "text" else "expert"


def _over(total: str, times: str) -> pl.Expr:
    """A total over its number of times; null where that is 0."""
    return pl.when(pl.col(times) > 0).then(pl.col(total) / pl.col(times))


def _correlated(scores: FloatArray, importance: FloatArray) -> dict[str, FloatArray]:
    """C of equation 5, Fisher's z of r with ``|scores|``; NaN where short or either is constant."""
    c = fisher(pearson(np.abs(scores), importance))
    return {"c": c if scores.shape[1] >= LEAST_TOKENS else np.full(len(scores), np.nan)}


def _soft_pairs(rows: pl.DataFrame, own: pl.DataFrame, informed: Informed) -> pl.DataFrame:
    """Judged rows with ``soft`` scores of an informed model whose words begin with theirs."""
    named = [(model, name) for model, names in informed.items() for name in names]
    links = pl.DataFrame(named, {"model": pl.String, "oracle": pl.String}, orient="row")
    key, size = ["id", "target", "method"], pl.col("words").list.len()
    others = rows.select(
        *key, oracle="model", informed="row", long="words", soft="scores", read="borrowed"
    )
    pairs = own.join(links, on="model", maintain_order="left").join(
        others, on=[*key, "oracle"], maintain_order="left_right"
    )
    fitting = pairs.filter(pl.col("long").list.head(size) == pl.col("words"))
    cut = pl.col("soft").list.head(size).list.eval(pl.element().abs())
    return fitting.with_columns(soft=cut).sort("row", maintain_order=True)


def _baseline(own: pl.DataFrame, draws: int, seed: int) -> pl.DataFrame:
    """Equation 6 of rows with a ``c``, by others' explanations: ``row, total, defined, draws``."""
    key = ["example", "method", "model"]
    of_row, of_example = dict[Any, set[str]](), dict[int, set[str]]()
    for one, method, model, said in own.drop_nulls("said").select(*key, "said").iter_rows():
        # Models split texts into other tokens: a row meets what its own method and model have.
        words = of_row.setdefault((one, method, model), {*said})
        of_example.setdefault(one, words)
    members = own.filter(pl.col("example").is_in([*of_example])).unique("example").sort("example")
    example, cluster = members.select("example", "cluster").to_numpy().T
    donors = _donors(example, cluster, draws, seed)
    lines = list[tuple[int, float, int, int]]()
    met = own.drop_nulls(["c", "said"]).select("row", *key, "words", "scores")
    for row, of, method, model, words, scores in met.iter_rows():
        known = donors.get(of, ())
        lent = [of_row.get((one, method, model), of_example[one]) for one in known]
        marks = np.array([[word in said for word in words] for said in lent], np.float64)
        r = fisher(pearson(np.abs([scores]), marks.reshape(-1, len(words))))
        lines.append((row, float(np.nansum(r)), int(np.isfinite(r).sum()), len(lent)))
    types = schema(("row", pl.Int64), ("total", pl.Float64), ("defined draws", pl.Int64))
    return pl.DataFrame(lines, types, orient="row")


def _donors(example: IntArray, cluster: IntArray, draws: int, seed: int) -> dict[int, list[int]]:
    """The examples whose explanations each one gets, of other clusters, one a draw."""
    donors: dict[int, list[int]] = {one: [] for one in example.tolist()}
    _, group = np.unique(cluster, return_inverse=True)
    for draw in range(draws):
        other = _others_of(group, np.random.default_rng([seed % 2**64, 0, draw]))
        served = other >= 0
        for one, of in zip(example[served].tolist(), example[other[served]].tolist(), strict=True):
            donors[one].append(of)
    return donors


def _others_of(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that gives each member the place of one of another group.

    Of a group of more than half, as many members as the others cannot serve are drawn and have -1.
    """
    sizes = np.bincount(group, minlength=1)
    unserved = max(2 * int(sizes.max()) - len(group), 0)
    left_out = rng.choice(np.flatnonzero(group == sizes.argmax()), unserved, replace=False)
    served = np.delete(np.arange(len(group)), left_out)
    other = np.full(len(group), -1)
    other[served] = served[_derangement(group[served], rng)]
    return other


def _derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that gives no member the place of one of its own group."""
    n = len(group)
    other = rng.permutation(n)

    def may(member: IntArray, partner: IntArray) -> BoolArray:
        """Whether neither of two members is misplaced once they have changed places."""
        first = group[other[partner]] != group[member]
        return np.asarray(first & (group[other[member]] != group[partner]))

    for number in range(_ROUNDS):
        wrong = np.flatnonzero(group[other] == group)
        if len(wrong) == 0:
            return other
        half = wrong[rng.random(len(wrong)) < 0.5]
        drawn = rng.choice(np.arange(n) if number % 2 == 0 else wrong, len(half))
        partner, first = np.unique(drawn, return_index=True)
        member = half[first]
        fit = may(member, partner) & ~np.isin(partner, member)
        member, partner = member[fit], partner[fit]
        other[member], other[partner] = other[partner], other[member]
    for one in np.flatnonzero(group[other] == group).tolist():
        if group[other[one]] == group[one]:
            another = int(rng.choice(np.flatnonzero(may(np.array(one), np.arange(n)))))
            other[[one, another]] = other[[another, one]]
    return other


def delta_a(aligned: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Equation 7 with its paired t-test, for each combination of values of some columns.

    ``undefined_share`` is of the draws for rows with a C, ``correlation`` back from the mean C,
    ``delta_a_zeros`` with 0 for undefined draws, ``absent`` why there is no Delta-A.
    """
    rows = pl.concat([aligned.filter(name).with_columns(subset=pl.lit(name)) for name in SUBSETS])
    rows = rows.with_columns(pl.col("subset").cast(pl.Enum(SUBSETS)))
    c, own, zeros = (
        clustered_means(rows, by, name) for name in ("c", "difference", "difference_zeros")
    )
    defined = pl.col("c").is_not_null()
    others = rows.group_by(by).agg(
        lacking=(defined & pl.col("difference").is_null()).any(),
        undefined=pl.col("undefined").filter(defined).sum(),
        draws=pl.col("draws").filter(defined).sum(),
    )
    mean, reach = pl.col("mean"), pl.col("reach")
    freedom = np.maximum(own["clusters"].to_numpy() - 1, 1)
    told = own.with_columns(
        t=pl.when(pl.col("error") > 0).then(mean / pl.col("error")),
        correlation=c["mean"].tanh(),
        delta_a=mean.tanh(),
        low=(mean - reach).tanh(),
        high=(mean + reach).tanh(),
        delta_a_zeros=zeros["mean"].tanh(),
    ).join(others, on=by, nulls_equal=True, maintain_order="left")
    p = 2 * stdtr(freedom, -told["t"].abs().fill_null(np.nan).to_numpy())
    unlent = pl.when((pl.col("oracle") == SOFT) & pl.col("lacking")).then(pl.lit(NOT_BORROWED))
    absent = unlent.otherwise(pl.lit("no example has both a correlation and a baseline"))
    return told.with_columns(
        pl.col("subset").cast(pl.String),
        p_t=pl.Series(p).fill_nan(None),
        undefined_share=_over("undefined", "draws"),
        absent=pl.when(pl.col("examples") == 0).then(absent),
    )


def alignment_table(aligned: pl.DataFrame) -> pl.DataFrame:
    """The table ``alignment``, with q over the ``family``: all lines of a subset that have a p."""
    told = delta_a(aligned, BY)
    family = pl.col("p_t").count().over("subset").cast(pl.Int64)
    with_q = told.with_columns(q=q_values(told, ["subset"], "p_t"), family=family)
    return TABLES["alignment"].cast(with_q)


def oracle_agreement(rows: pl.DataFrame, kind: str, informed: Informed) -> pl.DataFrame:
    """The table ``oracles``: correlations of people's evidence with the scores of informed models.

    A row a method, models pooled, by section 5; ``kind`` of evidence decides the name of people's
    oracle. ``spearman`` and ``pearson`` are over all tokens together; ``mean_spearman`` is the mean
    over ``examples`` where both oracles vary over 4 tokens or more.
    """
    lines = [TABLES["oracles"].frame()]
    if not kind or not informed:
        return lines[0]
    pairs = _soft_pairs(rows, judged(rows, informed), informed).filter(~pl.col("read"))
    same = ["model", "example", "words", "informed"]
    pairs = pairs.drop_nulls("marks").unique(same, keep="first", maintain_order=True)
    for _, own in pairs.sort("method").group_by("method", maintain_order=True):
        sides = [own[name].explode().to_numpy()[None] for name in ("marks", "soft")]
        within = by_row(own, ["marks", "soft"], _rank_correlation)
        lines.append(
            clustered_means(within, ["method"], "within")
            .with_columns(
                oracle=pl.lit(people_oracle(kind)),
                other=pl.lit(SOFT),
                texts=len(own),
                tokens=sides[0].size,
                spearman=float(pearson(*(ranking(one).ranks for one in sides))[0]),
                pearson=float(pearson(*sides)[0]),
                mean_spearman="mean",
                low=pl.col("mean") - pl.col("reach"),
                high=pl.col("mean") + pl.col("reach"),
            )
            .pipe(TABLES["oracles"].cast)
        )
    return pl.concat(lines).with_columns(pl.col(pl.Float64).fill_nan(None))


def _rank_correlation(marks: FloatArray, soft: FloatArray) -> dict[str, FloatArray]:
    """``within``: Spearman's correlation in each row; NaN below `LEAST_TOKENS` tokens."""
    r = pearson(ranking(marks).ranks, ranking(soft).ranks)
    return {"within": r if marks.shape[1] >= LEAST_TOKENS else np.full(len(r), np.nan)}
