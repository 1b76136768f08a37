"""What was measured of generated concepts: one record of tables, each with documented columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from audit.base.schemas import schema

MEASURED = schema(
    ("model relation split measure", pl.String),
    ("value low high", pl.Float64),
    ("n", pl.Int64),
    ("references", pl.Float64),
)
"""One row per model, relation (or "All", where there are several) and measure, of ``n`` instances
with a text of the model and ``references`` references each on average. ``measure`` is
``bleu_1_precision`` and ``bleu_2_precision``, the clipped precisions that *AbsPyramid* prints as
BLEU-1 and BLEU-2; ``brevity_penalty``; ``bleu_1`` and ``bleu_2``, the cumulative ones with it;
``rouge_2_recall``; ``rouge_l_f1``; ``exact_match``; and ``meteor`` where it was asked for. All are
shares from 0 to 1; BLEU is of the corpus, the others are means over instances. ``low`` and ``high``
bound the 95 % interval: percentiles of a bootstrap over (head, instance). ``split`` is "test", or
"all" where the data have no test set."""

COVERAGE = schema(
    ("model relation split", pl.String),
    ("instances generated blank missing", pl.Int64),
)
"""One row per model and relation (or "All"): instances with a reference, those for which the model
has a text, how many of these texts are blank (they score 0), and those without any."""

RATINGS = schema(
    ("model relation level", pl.String),
    ("share low high", pl.Float64),
    ("ratings items", pl.Int64),
)
"""One row per model, relation (or "All") and level: the share of ``ratings`` at that level, on
``items`` rated texts, with its 95 % interval (Wilson's at the effective number of ratings). Levels
are "valid" and "invalid", or as the file names them; a model has a row for each level."""

AGREEMENT = schema(
    ("model relation measure", pl.String),
    ("value low high", pl.Float64),
    ("items ratings raters", pl.Int64),
)
"""One row per model, relation (or "All") and ``measure`` of how far raters agree: ``pairwise``,
``fleiss`` (null where texts differ in their number of ratings) and ``alpha``, Krippendorff's for
nominal data, over the ``items`` with two ratings or more; their 95 % intervals by a bootstrap over
items. There is no row where no text has two ratings."""


@dataclass(frozen=True, eq=False)
class GenerationMeasurements:
    """How well models name concepts of instances.

    Args:
        measured: Measures by model and relation, columns `MEASURED`.
        coverage: What models generated, columns `COVERAGE`.
        ratings: What people say of texts, columns `RATINGS`.
        agreement: How far they agree, columns `AGREEMENT`.
        ledger: ``rows_read``; ``used``; ``repeated``, the same text for the same instance again;
            ``unknown``, texts for instances that the data set lacks; ``other_split``, those for
            instances in other splits than the measured one; ``without_reference``, those for
            instances of which no concept is valid; and rows refused when read, by reason. All but
            the first add up to the first.
        rating_ledger: The same of ratings: ``rows_read, used, unknown_id`` and refused rows.
    """

    measured: pl.DataFrame
    coverage: pl.DataFrame
    ratings: pl.DataFrame
    agreement: pl.DataFrame
    ledger: Mapping[str, int]
    rating_ledger: Mapping[str, int]
