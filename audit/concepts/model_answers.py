"""The labels that a model gives each instance, as the representations or another file say."""

from __future__ import annotations

from typing import Literal, TypeAlias

import polars as pl

from audit.concepts.representations import Representations

AnswersFrom: TypeAlias = Literal["representations", "predictions"]
"""Whether answers came with the representations, or apart from them."""


def model_answers(
    representations: Representations, apart: pl.Series | None
) -> tuple[pl.Series, AnswersFrom] | None:
    """Answers of the representations' own model output, else those given apart; None without both.

    Args:
        representations: With predictions or a head, or without.
        apart: Lists of labels in the order of the instances, null where none are known; None if
            there are none.

    Returns:
        Lists of labels in the order of the instances, null where none are known; and whose.
    """
    own = representations.predictions
    if own is not None:
        alone = pl.when(own.is_not_null()).then(pl.concat_list(own))
        return pl.select(alone).to_series(), "representations"
    if apart is None or apart.null_count() == len(apart):
        return None
    return apart, "predictions"
