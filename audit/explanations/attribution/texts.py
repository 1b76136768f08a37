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

    Raises:
        SchemaError: If the parts differ in length, or an id occurs twice.
        InputError: If a text has no token beside special ones.
    """

    ids: Sequence[str]
    tokens: Sequence[Sequence[str]]
    token_ids: Sequence[Sequence[int]]
    padding: int
    special: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.tokens) == len(self.token_ids):
            raise SchemaError(
                "as many ids as lists of tokens and of token numbers are required",
                found=f"{len(self.ids):,}, {len(self.tokens):,} and {len(self.token_ids):,}",
            )
        pairs = zip(self.ids, self.tokens, self.token_ids, strict=True)
        if unequal := [text for text, tokens, numbers in pairs if len(tokens) != len(numbers)]:
            raise SchemaError(
                "one number per token is required",
                found=f"other numbers of tokens in the texts {first_cases(unequal)}",
            )
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

    @cached_property
    def open(self) -> list[NDArray[np.bool_]]:
        """Per text which of its tokens are not special, and so can be scored and taken away."""
        special = np.array(sorted(self.special), dtype=np.int64)
        return [~np.isin(np.asarray(numbers, np.int64), special) for numbers in self.token_ids]

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each id."""
        return {text: place for place, text in enumerate(self.ids)}
