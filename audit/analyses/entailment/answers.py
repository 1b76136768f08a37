"""What stands beside tuples, as files: predictions, generated concepts and their ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from audit.analyses.entailment.dataset import KEY, EntailmentDataset
from audit.analyses.entailment.reading import relation, truth, with_class_names
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table
from audit.data.class_lists import GivenClasses
from audit.data.records import Records, records, sound_records

PREDICTIONS = schema(
    ("model trained_on id", pl.String), ("score", pl.Float64), ("valid unparsable", pl.Boolean)
)
"""One row per model, training data and tuple, each once. ``trained_on`` names a relation or a data
set, ``score`` is that of valid, in [0, 1], ``valid`` is its prediction, null where it is left to
the score; ``unparsable`` marks answers that are neither valid nor invalid and have no score."""
GENERATIONS = schema(("model id head relation instance text", pl.String))
"""One row per text: the first line of it that is not blank, empty if there is none. It is for the
instance of the tuple ``id``, or for that of ``head``, ``relation`` and ``instance`` where ``id`` is
null."""
RATED = schema(("model id rater level", pl.String))
"""One row per model, text (named by the id of a tuple of its instance) and rater."""
_NO_ID = pl.when(pl.col("id").is_null()).then(pl.lit("missing_id"))


def _read(
    dataset: EntailmentDataset,
    paths: Sequence[Path],
    roles: Mapping[str, Sequence[str]],
    meaning: Callable[[pl.DataFrame, Path], pl.DataFrame],
    columns: Mapping[str, Any],
    keys: Sequence[str],
    required: Sequence[str] = (),
) -> Records:
    """The rows of files that can be used, columns ``columns``, and how many others by reason.

    ``meaning`` makes these and ``refused``, why a row cannot be used, of the roles of a file; a
    model without a name is called as the file. Ids that ``dataset`` lacks stay: InputError only if
    no row is left with another, or if two rows are equal in all of ``keys``.
    """
    names = {"id": ["id"], "model": ["model"], **roles}
    kept, parts, where = {**columns, "refused": pl.String}, [], ", ".join(map(str, paths))
    for path in paths:
        rows = records(open_table(path), names, None, required).frame
        if dataset.numbered and "id" in rows.columns:
            asked = "a column 'id' of tuples is required to name them"
            raise SchemaError(asked, found="tuples without ids", where=path)
        lacking = {name: pl.lit(None, pl.String) for name in names if name not in rows.columns}
        called = pl.col("model").fill_null(path.name.split(".")[0] or path.name)
        read = meaning(rows.with_columns(**lacking).with_columns(called), path)
        parts.append(read.select(pl.col(name).cast(kind) for name, kind in kept.items()))
    every = pl.concat(parts)
    found = sound_records(every, sorted(every["refused"].drop_nulls().unique()), paths)
    refuse_repeated(found.frame, keys, paths)
    ids = found.frame["id"]
    if not (ids.is_null() | ids.is_in(dataset.tuples["id"].implode())).any():
        counts = [f"{n:,} {why}" for why, n in found.ledger.items()]
        unknown = [f"ids that no tuple has: {first_cases(ids.unique(maintain_order=True))}"]
        required = "rows that answer, and name tuples by their ids, are required"
        raise InputError(required, found=", ".join(counts + unknown[: len(ids)]), where=where)
    return found


def read_predictions(
    paths: Sequence[Path], dataset: EntailmentDataset, classes: GivenClasses = None
) -> Records:
    """Read predictions of validity, columns `PREDICTIONS`.

    A file has an ``id`` and a ``score`` of valid in [0, 1]; or two logits, of which the softmax is
    taken; a ``prediction`` in the words of labels, or a free ``answer``; or both. A score counts
    before logits. Without ids there is a row for each record of tuples without ids.

    Args:
        classes: Names of classes that predictions number from 0, or their file.

    Raises:
        InputError: If a file cannot be read, no row answers, or a model answers twice.
        SchemaError: If ids are missing, or a score is outside [0, 1].
    """

    def meaning(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
        if dataset.numbered:
            if rows.height != dataset.rows_read:
                required = f"{dataset.rows_read:,} rows, one for each of tuples without ids"
                raise SchemaError(required, found=f"{rows.height:,} rows", where=path)
            rows = rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
        scored = _with_scores(rows, path)
        scored = scored.with_columns(with_class_names(scored["prediction"], classes, path))
        answered = pl.col("answer").is_not_null()
        by_answer = pl.when(answered).then(said_valid(pl.col("answer")))
        none, word = pl.col("score").is_null(), answered | pl.col("prediction").is_not_null()
        refused = _NO_ID.when("bad").then(pl.lit("bad_score"))
        said = scored.with_columns(valid=pl.coalesce(truth("prediction"), by_answer))
        return said.with_columns(
            unparsable=none & word & pl.col("valid").is_null(),
            refused=refused.when(none & ~word).then(pl.lit("no_answer")),
        )

    roles = {
        "trained_on": ["trained_on"],
        "score": ["score", "probability"],
        "prediction": ["prediction", "predicted"],
        "answer": ["answer"],
        "logit_valid": ["logit_valid", "entailment"],
        "logit_invalid": ["logit_invalid", "neutral"],
    }
    return _read(dataset, paths, roles, meaning, PREDICTIONS, ("model", "trained_on", "id"))


def _with_scores(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The rows with the ``score`` of valid, null without one, and whether one is ``bad``."""
    names = ("score", "logit_valid", "logit_invalid")
    score, valid, invalid = (pl.col(one).cast(pl.Float64, strict=False) for one in names)
    value = pl.coalesce(score, 1 / (1 + (invalid - valid).exp()))
    sound, written = value.is_finite().fill_null(False), pl.col(names).is_not_null()
    bad = pl.any_horizontal(written) & ~sound
    made = rows.with_columns(score=pl.when(sound).then(value), bad=bad)
    outside = made.filter(~pl.col("score").is_between(0, 1))["score"]
    if len(outside):
        raise SchemaError(
            "a score of valid must be between 0 and 1",
            found=first_cases(outside.head(5), len(outside)),
            where=path,
            hint="give logits as two columns, logit_valid and logit_invalid",
        )
    return made


def said_valid(answer: pl.Expr) -> pl.Expr:
    """Whether a free answer says valid, invalid, or (null) neither.

    The first word decides if it is one of these, else a last yes or no; else what the only ones of
    these words in it say, unless it has a "not".
    """
    words = answer.str.to_lowercase().str.extract_all(r"\p{L}+")
    said = {True: ["yes", "true", "valid"], False: ["no", "false", "invalid"]}
    yes, no = (words.list.set_intersection(pl.lit(some)).list.len() > 0 for some in said.values())
    meant = {word: meaning for meaning, some in said.items() for word in some}
    known = partial(pl.Expr.replace_strict, default=None, return_dtype=pl.Boolean)
    last = known(words.list.last(), {"yes": True, "no": False})
    alone = pl.when((yes ^ no) & ~words.list.contains("not")).then(yes)
    return pl.coalesce(known(words.list.first(), meant), last, alone)


def read_generations(paths: Sequence[Path], dataset: EntailmentDataset) -> Records:
    """Read generated concepts, columns `GENERATIONS`; without an instance it is the head."""

    def meaning(rows: pl.DataFrame, _: Path) -> pl.DataFrame:
        unnamed = pl.any_horizontal(pl.col("head", "relation").is_null())
        line = pl.col("text").str.strip_chars().str.extract(r"^([^\r\n]*)").str.strip_chars()
        key = pl.when(unnamed).then(pl.lit("missing_key"))
        why = key.when(relation().is_null()).then(pl.lit("unknown_relation"))
        return rows.with_columns(
            relation=relation(),
            instance=pl.coalesce("instance", "head"),
            text=line.fill_null(""),
            refused=pl.when(pl.col("id").is_null()).then(why),
        )

    roles = {**{name: [name] for name in KEY}, "text": ["text", "generation", "answer"]}
    return _read(dataset, paths, roles, meaning, GENERATIONS, (), ["text"])


def read_ratings(paths: Sequence[Path], dataset: EntailmentDataset) -> Records:
    """Read ratings of generated texts, columns `RATED`; without a rater they are one person's.

    Levels stay as written, such as 1 to 5; if all of a file are yes or no, they are valid, invalid.
    """

    def meaning(rows: pl.DataFrame, _: Path) -> pl.DataFrame:
        said = rows.filter(pl.col("rating").is_not_null()).select(truth("rating")).to_series()
        named = pl.when(truth("rating")).then(pl.lit("valid")).otherwise(pl.lit("invalid"))
        level = pl.col("rating") if said.null_count() else named
        refused = _NO_ID.when(pl.col("rating").is_null()).then(pl.lit("missing_rating"))
        return rows.with_columns(pl.col("rater").fill_null(""), level=level, refused=refused)

    roles = {"rater": ["rater", "annotator"], "rating": ["rating", "level"]}
    return _read(dataset, paths, roles, meaning, RATED, ("model", "id", "rater"), ["id", "rating"])


def refuse_repeated(frame: pl.DataFrame, keys: Sequence[str], paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers the same question twice."""
    twice = frame.filter(pl.struct(*keys).is_duplicated()) if keys else frame.clear()
    if not twice.is_empty():
        cases = twice.unique(keys, maintain_order=True)
        named = cases.head(5).select(pl.concat_str(keys, separator=" ", ignore_nulls=True))
        raise InputError(
            "each model must give one answer to each question",
            found=f"several answers by {first_cases(named.to_series(), cases.height)}",
            where=", ".join(map(str, paths)),
            hint="models, or draws of one model, need names of their own in a column model",
        )
