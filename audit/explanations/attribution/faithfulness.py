"""Whether attributions are faithful: whether the model needs the tokens that they point to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.errors import InputError, first_cases
from audit.base.progress import Progress, silent
from audit.engine.statistics.resampling import unit_keys
from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attribution.methods import outputs_of_kept
from audit.explanations.attribution.rows import Batch, TokenisedTexts, batches
from audit.explanations.attributions import Attributions

if TYPE_CHECKING:
    import torch

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Shares of the tokens that comprehensiveness and sufficiency average over, those of "ERASER"."""
CURVE = tuple(step / 10 for step in range(11))
"""Shares of the tokens that the deletion curve takes away."""
DRAWS = 5
"""Number of random orders of the tokens that every row is held against."""


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How the output changes when the highest tokens are taken away, or kept alone.

    Args:
        rows: One row per row of the attributions, in their order: ``row, id, target, method,
            model, seed``; ``output`` on the text and ``baseline``; ``comprehensiveness``,
            ``sufficiency`` and ``deletion_area``; and each with ``random_`` before it, the mean
            of the same over random orders of the tokens.
        curves: The deletion curves: ``row``, ``share`` of the tokens taken away, ``output``, and
            ``random_output``.
    """

    rows: pl.DataFrame
    curves: pl.DataFrame


def faithfulness(
    model: EmbeddedModel,
    texts: TokenisedTexts,
    attributions: Attributions,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    progress: Progress = silent,
) -> Faithfulness:
    """Measure how the model's output depends on the tokens that attributions put first.

    Tokens are ordered by signed score, the highest first, equal ones at random. Comprehensiveness
    and sufficiency are those of "ERASER: A Benchmark to Evaluate Rationalized NLP Models"
    (DeYoung et al.) with a token's vector replaced by the padding's instead of the token deleted.
    High comprehensiveness, low sufficiency and a low area are faithful.

    Args:
        model: Its link says on which scale outputs are compared: ``sigmoid`` for probabilities.
        texts: Those that the attributions were computed on.
        attributions: From `audit.explanations.attribution.explain.explain`, or any with one score
            for each token of a text that is not special.
        seed: Seed of the random orders and of ties.
        draws: Number of random orders.
        progress: Progress callback.

    Raises:
        InputError: If a row's text or label is unknown, or the number of its scores is another.
    """
    text, column = _places(model, texts, attributions)
    keys = _keys(attributions, seed)
    pairs, first, pair = np.unique(
        np.stack([text, column]), axis=1, return_index=True, return_inverse=True
    )
    points = 2 * len(SHARES) + len(CURVE)
    own, random = np.zeros((len(text), 1, points)), np.zeros((len(first), draws, points))
    for batch in batches(model, texts, text, column, progress, "measuring faithfulness"):
        ranks = _ranks(batch, keys[batch.rows], attributions)
        own[batch.rows] = _outputs(model, batch, ranks)
    if draws:
        for batch in batches(model, texts, pairs[0], pairs[1], progress, "measuring random orders"):
            ranks = _random_ranks(batch, keys[first[batch.rows]], draws)
            random[batch.rows] = _outputs(model, batch, ranks)
    return _summary(attributions, np.concatenate([own, random[pair.ravel()]], axis=1))


def _outputs(model: EmbeddedModel, batch: Batch, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Outputs without and with only the highest tokens, and along the curve.

    Args:
        ranks: Per row and order the rank of each token, shape (rows, orders, tokens).

    Returns:
        Shape (rows, orders, shares without + shares with + points of the curve).
    """
    import torch

    there = torch.from_numpy(ranks.transpose(1, 0, 2)).to(model.device)
    counts = batch.open.sum(dim=1)
    shares = torch.tensor((*SHARES, *SHARES, *CURVE), dtype=torch.float64, device=model.device)
    number = tokens_in_share(shares[:, None], counts)
    first = there[:, None] < number[None, :, :, None]
    with_only = torch.arange(len(shares), device=model.device) // len(SHARES) == 1
    kept = torch.where(with_only[None, :, None, None], first, ~first)
    outputs = outputs_of_kept(model, batch, kept.flatten(0, 1))
    shaped = outputs.view(len(there), len(shares), len(batch))
    result: NDArray[np.float64] = shaped.permute(2, 0, 1).double().cpu().numpy()
    return result


def tokens_in_share(share: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The number of tokens in a share of a text, rounded up; 10 % of 30 are 3."""
    import torch

    return torch.ceil((share * tokens).round(decimals=9)).long()


def _summary(attributions: Attributions, values: NDArray[np.float64]) -> Faithfulness:
    without, only, curve = np.split(values, [len(SHARES), 2 * len(SHARES)], axis=2)
    output, baseline = curve[:, 0, 0], curve[:, 0, -1]
    measures = {
        "comprehensiveness": output[:, None] - without.mean(axis=2),
        "sufficiency": output[:, None] - only.mean(axis=2),
        "deletion_area": np.trapezoid(curve, CURVE, axis=2),
    }
    columns = {name: measure[:, 0] for name, measure in measures.items()}
    columns |= {f"random_{name}": _mean(measure[:, 1:]) for name, measure in measures.items()}
    names = ("id", "target", "method", "model", "seed")
    rows = attributions.rows.select(names).with_row_index("row")
    rows = rows.with_columns(output=output, baseline=baseline, **columns)
    curves = pl.DataFrame(
        {
            "row": np.repeat(np.arange(len(curve)), len(CURVE)),
            "share": np.tile(CURVE, len(curve)),
            "output": curve[:, 0].ravel(),
            "random_output": _mean(curve[:, 1:]).ravel(),
        },
        schema_overrides={"row": pl.UInt32},
    )
    return Faithfulness(rows, curves)


def _mean(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over random orders; NaN where there are none."""
    empty = np.full((len(draws), *draws.shape[2:]), np.nan)
    return draws.mean(axis=1) if draws.shape[1] else empty


def _ranks(batch: Batch, keys: NDArray[np.uint64], attributions: Attributions) -> NDArray[np.int64]:
    """Ranks of tokens by score, shape (rows, 1, tokens), from 0.

    Special tokens come last, so that they stay.
    """
    ranks = np.full((len(batch), 1, batch.length), batch.length, dtype=np.int64)
    for row, open_places in enumerate(batch.open.cpu().numpy()):
        scores = attributions.scores[int(batch.rows[row])]
        ties = np.random.default_rng([0, int(keys[row])]).random(len(scores))
        ranks[row][:, open_places] = np.argsort(np.lexsort((ties, -scores)))
    return ranks


def _random_ranks(batch: Batch, keys: NDArray[np.uint64], draws: int) -> NDArray[np.int64]:
    """Ranks in random orders, shape (rows, draws, tokens)."""
    ranks = np.full((len(batch), draws, batch.length), batch.length, dtype=np.int64)
    for row, open_places in enumerate(batch.open.cpu().numpy()):
        drawn = np.random.default_rng([1, int(keys[row])]).random((draws, open_places.sum()))
        ranks[row][:, open_places] = np.argsort(np.argsort(drawn, axis=1), axis=1)
    return ranks


def _places(
    model: EmbeddedModel, texts: TokenisedTexts, attributions: Attributions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per row the place of its text and of its label."""
    columns = {label: place for place, label in enumerate(model.labels)}
    rows = attributions.rows
    text = [texts.place.get(one, -1) for one in rows["id"]]
    column = [columns.get(one, -1) for one in rows["target"]]
    named = zip(rows.select("id", "target").rows(), text, column, strict=True)
    unknown = [row for row, *places in named if -1 in places]
    if unknown:
        raise InputError(
            "every row needs a text that is there and a label of the model",
            found=f"others in {first_cases(unknown)}",
        )
    tokens = np.array([places.sum() for places in texts.open], dtype=np.int64)
    places = np.array(text, dtype=np.int64)
    unequal = np.flatnonzero(tokens[places] != attributions.scores.lengths)
    if len(unequal):
        raise InputError(
            "every row needs one score for each token that is not special",
            found=f"other numbers in {first_cases(rows[unequal].select('id', 'target').rows())}",
        )
    return places, np.array(column, dtype=np.int64)


def _keys(attributions: Attributions, seed: int) -> NDArray[np.uint64]:
    """A seed per text and target, so that all methods are held against the same orders."""
    rows = attributions.rows.select("id", "target").rows()
    return unit_keys([f"{text}\0{target}" for text, target in rows], seed)
