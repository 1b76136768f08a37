"""Texts as a model reads them, and rows to explain, in batches of equally long texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.progress import Progress
from audit.explanations.attribution.embedded_model import EmbeddedModel

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Texts and their tokens.

    Args:
        ids: The id of each text; no id twice.
        tokens: Per text its tokens, as the tokenizer writes them.
        token_ids: Per text the number of each token, without padding.
        padding: The number of the padding token, which stands where a token is taken away.
        special: Numbers of special tokens, such as those of [CLS] and [SEP]. They stay where they
            are in every baseline, and get no score.
        passages: The texts themselves, and
        offsets: per text the first character of each token and the one after its last. Only
            evidence given as spans of characters needs the two.

    Raises:
        SchemaError: If the parts differ in length, or an id occurs twice.
        InputError: If a text has no token beside special ones.
    """

    ids: Sequence[str]
    tokens: Sequence[Sequence[str]]
    token_ids: Sequence[Sequence[int]]
    padding: int
    special: frozenset[int] = frozenset()
    passages: Sequence[str] | None = None
    offsets: Sequence[Sequence[tuple[int, int]]] | None = None

    def __post_init__(self) -> None:
        parts = (self.tokens, self.token_ids, self.passages, self.offsets)
        lengths = [len(part) for part in parts if part is not None]
        if any(length != len(self.ids) for length in lengths):
            raise SchemaError(
                f"tokens, numbers and offsets of {len(self.ids):,} texts are required",
                found=f"those of {', '.join(f'{length:,}' for length in lengths)}",
            )
        self._check_tokens(self.token_ids, "number")
        self._check_tokens(self.offsets or self.token_ids, "offset")
        if repeated := [text for text, times in Counter(self.ids).items() if times > 1]:
            raise SchemaError(
                "each text needs an id of its own", found=f"repeated ids: {first_cases(repeated)}"
            )
        pairs_of_open = zip(self.ids, self.open, strict=True)
        if bare := [text for text, open_places in pairs_of_open if not open_places.any()]:
            raise InputError(
                "a text needs a token that is not special",
                found=f"none in the texts {first_cases(bare)}",
                hint="leave these texts out",
            )

    def _check_tokens(self, per_text: Sequence[Sequence[object]], what: str) -> None:
        pairs = zip(self.ids, self.tokens, per_text, strict=True)
        if unequal := [text for text, tokens, own in pairs if len(tokens) != len(own)]:
            raise SchemaError(
                f"one {what} per token is required",
                found=f"more or fewer in the texts {first_cases(unequal)}",
            )

    @cached_property
    def open(self) -> list[NDArray[np.bool_]]:
        """Per text which of its tokens are not special, and so can be scored and taken away."""
        special = np.array(sorted(self.special), dtype=np.int64)
        return [~np.isin(np.asarray(numbers, np.int64), special) for numbers in self.token_ids]

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each id."""
        return {text: place for place, text in enumerate(self.ids)}


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
    """Yield all rows, each in one batch."""
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
