"""What tokens ought to matter: importance that people give them, or a model that read people's
explanations.

The oracles of *Importance Alignment* (Prasad et al., section 3.2): *hard*, words of a free-text
explanation; *expert*, the share of annotators who marked a token; *soft*, the absolute scores of an
explanation-informed model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.lists import LEAST_TOKENS, Lists, codes, pearson, ranks, sums
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import LEVEL

Subset = Literal["all", "right", "wrong", "common"]
SUBSETS: tuple[Subset, ...] = ("all", "right", "wrong", "common")
"""All examples, those that a model gets right, those it gets wrong, those that all get wrong."""
Informed = Mapping[str, Sequence[str]]
"""Per model the names of the explanation-informed models that are its soft oracle."""
SOFT = "soft"


def with_examples(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of attributions with their place as ``row``, ``example`` and ``cluster``.

    An example is a pair of an instance and a target label. It is in the cluster of its group, or
    of its instance if it has no group, since the targets of one instance share its text.
    """
    alone = pl.col("group").is_null()
    groups = rows.select(alone=alone, cluster=pl.when(alone).then("id").otherwise("group"))
    return rows.with_columns(
        pl.col("borrowed").fill_null(False),
        row=pl.int_range(pl.len()),
        example=codes(rows.select("id", "target")),
        cluster=codes(groups),
    ).with_columns(pl.col("cluster").first().over("example"))


def judged(rows: pl.DataFrame, informed: Informed) -> pl.DataFrame:
    """Rows of `with_examples` that are judged: none of an informed model, none borrowed.

    They have the columns of `with_subsets`. InputError if a model of the soft oracle has no rows.
    """
    known = rows["model"].unique().sort().to_list()
    oracles = {name for names in informed.values() for name in names}
    if missing := sorted({*informed, *oracles} - {*known}):
        raise InputError(
            "each model of the soft oracle must have rows",
            found=f"no rows of {first_cases(missing)}",
            hint=f"the models are {first_cases(known)}",
        )
    return with_subsets(rows.filter(~pl.col("borrowed") & ~pl.col("model").is_in(oracles)))


def with_subsets(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with a column for each of `SUBSETS`.

    A row is right where the model gives the target as it is given in truth, and wrong where it does
    not; if either is unknown, it is neither. An example is common if every model, with every seed,
    has a row for it that is wrong.
    """
    run = pl.struct("model", "seed")
    wrong = (pl.col("gold") != pl.col("predicted")).fill_null(False)
    missed = run.filter(wrong).n_unique().over("example")
    return rows.with_columns(
        all=pl.lit(True),
        right=(pl.col("gold") == pl.col("predicted")).fill_null(False),
        wrong=wrong,
        common=wrong & (missed == run.n_unique()),
    )


def soft_pairs(attributions: Attributions, rows: pl.DataFrame, informed: Informed) -> pl.DataFrame:
    """Pairs of a judged row and a row of an informed model for the same example and method.

    Returns:
        The judged row with ``informed``, the place of the other, whose words begin with those of
        the judged row, and whether that model read the explanation of another example,
        ``borrowed``; ascending.
    """
    named = [(model, name) for model, names in informed.items() for name in names]
    links = pl.DataFrame(named, {"model": pl.String, "oracle": pl.String}, orient="row")
    key = ["id", "target", "method"]
    others = rows.select(*key, oracle="model", informed="row", long="text", read="borrowed")
    pairs = judged(rows, informed).join(links, on="model").join(others, on=[*key, "oracle"])
    pairs = pairs.with_columns(borrowed="read").sort("row", "informed")
    texts = pairs.select("text", "long").unique(maintain_order=True)
    short, long = (texts[name].to_numpy() for name in ("text", "long"))
    lengths = attributions.words.lengths
    begins = lengths[short] <= lengths[long]
    mine = attributions.words.take(short[begins])
    theirs = attributions.words.take(long[begins], mine.lengths)
    begins[begins] = sums(Lists(mine.values != theirs.values, mine.starts)) == 0
    fitting = texts.filter(pl.Series(begins))
    return pairs.join(fitting, on=["text", "long"], how="semi", maintain_order="left")


def soft_scores(attributions: Attributions, pairs: pl.DataFrame) -> Lists[np.float64]:
    """Absolute scores of the informed row of each pair, cut to the tokens of the judged row."""
    row, informed = (pairs[name].to_numpy() for name in ("row", "informed"))
    cut = attributions.scores.take(informed, attributions.scores.lengths[row])
    return Lists(np.abs(cut.values), cut.starts)


def people_oracle(attributions: Attributions) -> str:
    """What the oracle is called that the evidence of people makes: ``hard`` or ``expert``."""
    evidence = attributions.evidence
    return "hard" if evidence is not None and evidence.kind == "text" else "expert"


def oracle_agreement(
    attributions: Attributions, rows: pl.DataFrame, informed: Informed
) -> pl.DataFrame:
    """The table ``oracles``: correlations over tokens of people and informed models (section 5).

    ``spearman`` and ``pearson`` are over all tokens together, as the paper has them;
    ``mean_spearman`` is the mean over the ``examples`` in which both oracles vary over 4 tokens or
    more. Models are pooled; a correlation is null where it is undefined. No line for fewer than two
    oracles.

    Args:
        attributions: Their evidence makes the first oracle.
        rows: From `with_examples`.
        informed: Each row of such a model, method by method, is compared with people.
    """
    evidence, lines = attributions.evidence, [TABLES["oracles"].frame()]
    if evidence is None or not informed:
        return lines[0]
    pairs = soft_pairs(attributions, rows, informed).filter(~pl.col("borrowed"))
    each = pairs.unique(["text", "target", "informed"], keep="first", maintain_order=True)
    for _, own in each.drop_nulls("item").sort("method").group_by("method", maintain_order=True):
        marks = evidence.marks.take(own["item"].to_numpy())
        size = soft_scores(attributions, own)
        within = pearson(ranks(marks), ranks(size))
        within[marks.lengths < LEAST_TOKENS] = np.nan
        whole = [Lists(one.values, one.starts[[0, -1]]) for one in (marks, size)]
        lines.append(
            clustered_means(own.with_columns(within=within), ["method"], "within")
            .with_columns(
                oracle=pl.lit(people_oracle(attributions)),
                other=pl.lit(SOFT),
                texts=len(marks),
                tokens=len(marks.values),
                spearman=float(pearson(*map(ranks, whole))[0]),
                pearson=float(pearson(*whole)[0]),
                mean_spearman="mean",
                low=pl.col("mean") - pl.col("reach"),
                high=pl.col("mean") + pl.col("reach"),
            )
            .pipe(TABLES["oracles"].cast)
        )
    return pl.concat(lines).with_columns(pl.col(pl.Float64).fill_nan(None))


def clustered_means(rows: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Means over examples, each the mean of its own values, with instances or groups as clusters.

    The variance of a mean is ``G / (G - 1)`` times the sum over its G clusters of the squared sum
    of residuals, over the square of the number of examples. If each cluster is one example, this
    is the variance of the paired t-test.

    Args:
        rows: ``example``, ``cluster``, ``value``; null and NaN are left out.
        by: What each mean is of.
        value: The column.

    Returns:
        ``by, examples, clusters, mean, error`` and ``reach``, half the 95 % interval by Student's
        distribution; sorted by ``by``, a line for each combination that has rows. Without a value
        ``mean`` is null, and below two clusters ``error``.
    """
    known = rows.with_columns(pl.col(value).fill_nan(None)).drop_nulls(value)
    each = known.group_by(*by, "cluster", "example", maintain_order=True).agg(pl.col(value).mean())
    residual = pl.col(value) - pl.col(value).mean().over(by)
    clusters = (
        each.with_columns(residual=residual)
        .group_by(*by, "cluster", maintain_order=True)
        .agg(pl.len().alias("n"), pl.col(value, "residual").sum())
    )
    n, g = pl.col("n").sum(), pl.len()
    squares = (pl.col("residual") ** 2).sum()
    means = clusters.group_by(by, maintain_order=True).agg(
        examples=n.cast(pl.Int64),
        clusters=g.cast(pl.Int64),
        mean=pl.col(value).sum() / n,
        error=pl.when(g > 1).then((squares * g / (g - 1)).sqrt() / n),
    )
    every = rows.select(by).unique().sort(by)
    table = every.join(means, on=by, how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(pl.col("examples", "clusters").fill_null(0))
    reach = stdtrit(np.maximum(table["clusters"].to_numpy() - 1, 1), (1 + LEVEL) / 2)
    return table.with_columns(reach=pl.Series(reach) * pl.col("error"))
