"""Settings of an audit of an entailment graph."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from audit.base.stored_path import StoredPath


class Entailing(BaseModel):
    """The settings for auditing an entailment graph.

    Args:
        files: Files of tuples; all of them are the dataset.
        kind: What the files hold, a name of `audit.entailment.reading.columns.KINDS`.
        columns: Columns of the files that have another name than what they hold.
        positives: File of the tuples for generation, which should be the valid ones; None without.
        predictions: Files of predicted validity.
        answers: Files of a language model's answers to prompts.
        generations: Files of generated concepts.
        ratings: File of people's ratings of generated concepts; None without.
        wordnet: Folder of a WordNet; None without.
        meteor: Whether generated concepts are also measured by METEOR.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[StoredPath, ...]
    kind: str = "tuples"
    columns: dict[str, str] = {}
    positives: StoredPath | None = None
    predictions: tuple[StoredPath, ...] = ()
    answers: tuple[StoredPath, ...] = ()
    generations: tuple[StoredPath, ...] = ()
    ratings: StoredPath | None = None
    wordnet: StoredPath | None = None
    meteor: bool = False
