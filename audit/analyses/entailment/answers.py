"""What stands beside tuples, as files: predictions, generated concepts and their ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.analyses.entailment.dataset import EntailmentDataset
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
_Meaning: TypeAlias = Callable[[pl.DataFrame, list[str], Path], pl.DataFrame]
_NO_ID = pl.when(pl.col("id").is_null()).then(pl.lit("missing_id"))


def _read(
    dataset: EntailmentDataset,
    paths: Sequence[Path],
    roles: str,
    meaning: _Meaning,
    columns: Mapping[str, Any],
    keys: Sequence[str] = (),
) -> Records:
    """The rows of some files that can be used, and the number of others by reason.

    Args:
        roles: Roles of columns, apart by blanks: ``role|other name``, with ``!`` if it is required.
        meaning: Function of the rows of a file, with null for roles that it lacks, of the roles
            that it has, and of its path, to rows with `columns` and ``refused``: why one cannot be
            used. A model without a name is called as the file, up to the first dot.
        keys: Columns that together name one answer, which may be given once.
    """
    apart = {one.strip("!").split("|")[0]: one for one in f"id model {roles}".split()}
    names = {name: one.strip("!").split("|") for name, one in apart.items()}
    required = [name for name, one in apart.items() if one.endswith("!")]
    kept, parts, where = {**columns, "refused": pl.String}, [], ", ".join(map(str, paths))
    for path in paths:
        rows = records(open_table(path), names, None, required).frame
        given = rows.columns
        if dataset.numbered and "id" in given:
            asked = "a column 'id' of tuples is required to name them"
            raise SchemaError(asked, found="tuples without ids", where=path)
        lacking = {name: pl.lit(None, pl.String) for name in names if name not in given}
        named = rows.with_columns(**lacking).with_columns(pl.col("model").fill_null(_called(path)))
        read = meaning(named, given, path)
        parts.append(read.select(pl.col(name).cast(kind) for name, kind in kept.items()))
    every = pl.concat(parts)
    found = sound_records(every, sorted(every["refused"].drop_nulls().unique()), paths)
    refuse_repeated(found.frame, keys, paths)
    known = found.frame["id"].is_null() | found.frame["id"].is_in(dataset.tuples["id"].implode())
    if not known.any():
        counts = [f"{n:,} {why}" for why, n in found.ledger.items()]
        ids = found.frame["id"].unique(maintain_order=True)
        raise InputError(
            "answers must name tuples by their ids",
            found=", ".join([*counts, f"ids that no tuple has: {first_cases(ids)}"]),
            where=where,
        )
    return found


def _called(path: Path) -> str:
    return path.name.split(".")[0] or path.name


def read_predictions(
    paths: Sequence[Path], dataset: EntailmentDataset, classes: GivenClasses = None
) -> Records:
    """Read predictions of validity, columns `PREDICTIONS`.

    A file has an ``id`` and a ``score`` of valid in [0, 1]; or two logits, of which the softmax is
    taken; a ``prediction`` in the words of labels, or a free ``answer``; or both. Without ids there
    is a row for each record of tuples without ids.

    Args:
        classes: Names of classes that predictions number from 0, or their file.

    Raises:
        InputError: If a file cannot be read, no row names a tuple, or a model answers twice.
        SchemaError: If a column is missing, or a score is outside [0, 1].
    """

    def meaning(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
        if "id" not in given:
            if not dataset.numbered or rows.height != dataset.rows_read:
                raise SchemaError(
                    "a column 'id' is required, or a row for each record of tuples without ids",
                    found=f"{rows.height:,} rows of {first_cases(given)}",
                    where=path,
                )
            rows = rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
        scored = _with_scores(rows, given, path)
        scored = scored.with_columns(with_class_names(scored["prediction"], classes, path))
        answered = pl.col("answer").is_not_null()
        by_answer = pl.when(answered).then(said_valid(pl.col("answer")))
        said = scored.with_columns(valid=pl.coalesce(truth("prediction"), by_answer))
        none, word = pl.col("score").is_null(), answered | pl.col("prediction").is_not_null()
        refused = _NO_ID.when("bad").then(pl.lit("bad_score"))
        return said.with_columns(
            unparsable=none & word & pl.col("valid").is_null(),
            refused=refused.when(none & ~word).then(pl.lit("no_answer")),
        )

    roles = (
        "trained_on score|probability prediction|predicted answer logit_valid|entailment "
        "logit_invalid|neutral"
    )
    return _read(dataset, paths, roles, meaning, PREDICTIONS, ("model", "trained_on", "id"))


def _with_scores(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
    """The rows with the ``score`` of valid, null without one, and whether one is no number."""
    numbers = [role for role in ("score", "logit_valid", "logit_invalid") if role in given]
    known = numbers in ([], ["score"], ["logit_valid", "logit_invalid"])
    if not known or not {*numbers, "prediction", "answer"} & {*given}:
        raise SchemaError(
            "a score of valid, a prediction, an answer, or the two logits of valid and invalid "
            "are required",
            found=f"columns for {first_cases(given)}",
            where=path,
        )
    values = [pl.col(one).cast(pl.Float64, strict=False).fill_nan(None) for one in numbers]
    finite = pl.all_horizontal([pl.lit(bool(numbers)), *(one.is_finite() for one in values)])
    score = values[0] if values else pl.lit(None, pl.Float64)
    if len(values) == 2:
        score = 1 / (1 + (values[1] - values[0]).exp())
    finite = finite.fill_null(False)
    bad = pl.any_horizontal([pl.lit(False), *(pl.col(one).is_not_null() for one in numbers)])
    made = rows.with_columns(bad=bad & ~finite, score=pl.when(finite).then(score))
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

    The first word decides if it is yes, true or valid, or no, false or invalid, else the last one
    if it is yes or no; else the answer says what the only ones of these words in it say, unless it
    has a "not".
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

    def meaning(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
        if "id" not in given and not {"head", "relation"} <= {*given}:
            raise SchemaError(
                "the id of a tuple, or head, relation and instance, are required",
                found=f"columns for {first_cases(given)}",
                where=path,
                hint="call the column that holds the ids 'id'",
            )
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

    return _read(
        dataset, paths, "head relation instance text|generation|answer!", meaning, GENERATIONS
    )


def read_ratings(paths: Sequence[Path], dataset: EntailmentDataset) -> Records:
    """Read ratings of generated texts, columns `RATED`; without a rater they are one person's.

    Levels that all say valid or invalid are called so.
    """

    def meaning(rows: pl.DataFrame, _: list[str], path: Path) -> pl.DataFrame:
        said = rows.select(pl.col("rating").drop_nulls().alias("rating")).select(truth("rating"))
        named = pl.when(truth("rating")).then(pl.lit("valid")).otherwise(pl.lit("invalid"))
        level = pl.col("rating") if said["rating"].null_count() else named
        refused = _NO_ID.when(pl.col("rating").is_null()).then(pl.lit("missing_rating"))
        return rows.with_columns(pl.col("rater").fill_null(""), level=level, refused=refused)

    keys = ("model", "id", "rater")
    return _read(dataset, paths, "id! rater|annotator rating|level!", meaning, RATED, keys)


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
