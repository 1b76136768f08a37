"""Rows to explain, in batches of equally long texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from audit.base.dag import IntArray
from audit.base.progress import Progress
from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attribution.texts import TokenisedTexts

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of equally long texts, so that no text is padded and none depends on the others.

    Args:
        rows: Their places, shape (rows,).
        token_ids: Shape (rows, tokens).
        columns: The output that each row explains, shape (rows,).
        open: Tokens that are not special, shape (rows, tokens).
        vectors: Of the tokens, shape (rows, tokens, dimensions).
        baseline: The same with padding in place of open tokens.
    """

    rows: IntArray
    token_ids: torch.Tensor
    columns: torch.Tensor
    open: torch.Tensor
    vectors: torch.Tensor
    baseline: torch.Tensor

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def length(self) -> int:
        """The number of tokens of each text."""
        return int(self.token_ids.shape[1])

    def row(self, place: int) -> Batch:
        """A batch of one of its rows."""
        one = slice(place, place + 1)
        return Batch(
            self.rows[one],
            self.token_ids[one],
            self.columns[one],
            self.open[one],
            self.vectors[one],
            self.baseline[one],
        )

    def copies(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Token numbers and columns of this many copies of the batch, copy after copy."""
        return self.token_ids.repeat(number, 1), self.columns.repeat(number)


def batches(
    model: EmbeddedModel,
    texts: TokenisedTexts,
    text: Sequence[int] | IntArray,
    column: Sequence[int] | IntArray,
    progress: Progress,
    step: str,
) -> Iterator[Batch]:
    """Yield all rows, each in one batch.

    Args:
        text: Per row the place of its text.
        column: Per row the place of its label among the outputs.
        step: What is being done, for progress.
    """
    text, column = np.asarray(text, np.int64), np.asarray(column, np.int64)
    lengths = np.array([len(tokens) for tokens in texts.token_ids], dtype=np.int64)[text]
    done = 0
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        size = max(model.tokens_per_pass // int(length), 1)
        for start in range(0, len(rows), size):
            progress(step, done, len(text), "rows")
            places = rows[start : start + size]
            yield _batch(model, texts, places, text[places], column[places])
            done += len(places)
    progress(step, len(text), len(text), "rows")


def _batch(
    model: EmbeddedModel, texts: TokenisedTexts, rows: IntArray, text: IntArray, column: IntArray
) -> Batch:
    import torch

    there = model.device
    token_ids = torch.tensor([list(texts.token_ids[one]) for one in text], device=there)
    open_places = torch.tensor(np.stack([texts.open[one] for one in text]), device=there)
    vectors = model.embedded(token_ids)
    padding = model.embedded(torch.full_like(token_ids, texts.padding))
    return Batch(
        rows,
        token_ids,
        torch.tensor(column, device=there),
        open_places,
        vectors,
        torch.where(open_places[..., None], padding, vectors),
    )
