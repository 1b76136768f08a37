"""Texts as a model reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError, SchemaError, first_cases


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
