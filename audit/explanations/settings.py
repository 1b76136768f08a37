"""Settings of an audit of explanations."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from audit.base.stored_path import StoredPath


class Explaining(BaseModel):
    """The settings for auditing explanations.

    Args:
        attributions: File of attributions.
        evidence: File of human evidence; None: it stands among the attributions, if anywhere.
        faithfulness: File of faithfulness; None without one.
        randomised: File of scores of the same rows by models with shuffled parameters; None
            without one.
        informed: Per model those that also read the explanation.
        reference_model: The model that the others are compared with; None to compare none.
        only: The examples that nodes are compared by.
        draws: Other explanations that each is held against.
        word_pieces: How word pieces are merged; None leaves them.
        stop_words: Name of the list of words that are not evidence.
        text: Whether words of the source may be shown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attributions: StoredPath
    evidence: StoredPath | None = None
    faithfulness: StoredPath | None = None
    randomised: StoredPath | None = None
    informed: dict[str, tuple[str, ...]] = {}
    reference_model: str | None = None
    only: Literal["all", "right", "wrong", "common"] = "all"
    draws: int = 10
    word_pieces: Literal["sum", "mean", "max"] | None = None
    stop_words: Literal["paper", "clinical"] = "paper"
    text: bool = False
