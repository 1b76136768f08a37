"""What stands beside tuples, as files: predictions, answers to prompts, generations and ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import expit

from audit.analyses.entailment.dataset import EntailmentDataset
from audit.analyses.entailment.reading import relations, truths, with_class_names
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading, asked
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
_PREDICTED = ("model", "trained_on", "id")
_NO_ID = pl.when(pl.col("id").is_null()).then(pl.lit("missing_id"))


def _read(
    what: str,
    paths: Sequence[Path],
    roles: str,
    meaning: Callable[[pl.DataFrame, list[str], Path], pl.DataFrame],
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
    names = {one.split("|")[0].strip("!"): one.strip("!").split("|") for one in roles.split()}
    required = [one.split("|")[0].strip("!") for one in roles.split() if one.endswith("!")]
    names = {"id": ["id"], "model": ["model"], **names}
    kept = {**columns, "refused": pl.String}
    parts = [pl.DataFrame(schema=kept)]
    for path in paths:
        rows = records(open_table(path), names, None, required).frame
        lacking = (pl.lit(None, pl.String).alias(one) for one in names if one not in rows.columns)
        called = pl.col("model").fill_null(path.name.split(".")[0] or path.name)
        found = meaning(rows.with_columns(lacking).with_columns(called), rows.columns, path)
        parts.append(found.select(pl.col(name).cast(kind) for name, kind in kept.items()))
    read = pl.concat(parts)
    given = sound_records(read, sorted(read["refused"].drop_nulls().unique()), paths)
    if given.frame.is_empty():
        counts = ", ".join(f"{n:,} {reason}" for reason, n in given.ledger.items())
        raise InputError(
            f"{what} are required",
            found=f"none that can be used: {counts}" if counts else "no file",
            where=", ".join(map(str, paths)),
        )
    if keys:
        refuse_repeated(given.frame, keys, paths)
    return given


def read_validity_predictions(
    paths: Sequence[Path], in_order: int | None = None, classes: GivenClasses = None
) -> Records:
    """Read predictions of validity, columns `PREDICTIONS`.

    A file has an ``id`` and a ``score`` of valid in [0, 1], or a ``prediction`` in the words of
    labels, or both; or two logits, of which the softmax is taken.

    Args:
        in_order: Number of records of tuples without ids, to which as many rows without ids belong.
        classes: Names of classes that predictions number from 0, or their file.

    Raises:
        InputError: If a file cannot be read, no row of all can be used, a model answers twice, or
            predictions say neither valid nor invalid.
        SchemaError: If a column is missing, or a score is outside [0, 1].
    """

    def meaning(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
        if "id" not in given and rows.height != in_order:
            raise SchemaError(
                "a column named 'id' is required, or a row for each record of tuples without ids",
                found=f"{rows.height:,} rows of {first_cases(given)}",
                where=path,
            )
        if "id" not in given:
            rows = rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
        scored = _with_scores(rows, given, path)
        scored = scored.with_columns(with_class_names(scored["prediction"], classes, path))
        said = scored.with_columns(valid=truths(scored["prediction"]))
        words = said["prediction"].drop_nulls().unique(maintain_order=True)
        if len(words) and not said["valid"].count() and not said["score"].count():
            raise InputError(
                "a prediction must say valid or invalid, by the words of labels",
                found=first_cases(words.head(5), len(words)),
                where=path,
            )
        none, word = pl.col("score").is_null(), pl.col("prediction").is_not_null()
        refused = _NO_ID.when("bad").then(pl.lit("bad_score"))
        return said.with_columns(
            unparsable=none & word & pl.col("valid").is_null(),
            refused=refused.when(none & ~word).then(pl.lit("no_answer")),
        )

    roles = (
        "trained_on score|probability prediction|predicted logit_valid|entailment "
        "logit_invalid|neutral"
    )
    return _read("predictions of tuples", paths, roles, meaning, PREDICTIONS, _PREDICTED)


def _with_scores(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
    """The rows with the ``score`` of valid, null without one, and whether one is no number."""
    numbers = [role for role in ("score", "logit_valid", "logit_invalid") if role in given]
    known = numbers in ([], ["score"], ["logit_valid", "logit_invalid"])
    if not known or not (numbers or "prediction" in given):
        raise SchemaError(
            "a score of valid, a prediction, or the two logits of valid and invalid are required",
            found=f"columns for {first_cases(given)}",
            where=path,
        )
    if not numbers:
        return rows.with_columns(score=pl.lit(None, pl.Float64), bad=False)
    values = rows.select(pl.col(numbers).cast(pl.Float64, strict=False).fill_nan(None))
    finite = values.select(pl.all_horizontal(pl.all().is_finite().fill_null(False))).to_series()
    score = values.to_series()
    if len(numbers) == 2:
        score = pl.Series(expit((values.to_series(0) - values.to_series(1)).fill_null(0)))
    bad = pl.any_horizontal(pl.col(numbers).is_not_null()) & ~finite
    made = rows.with_columns(bad=bad).with_columns(score=pl.when(finite).then(score))
    outside = made.filter(~pl.col("score").is_between(0, 1))["score"]
    if len(outside):
        raise SchemaError(
            "a score of valid must be between 0 and 1",
            found=first_cases(outside.head(5), len(outside)),
            where=path,
            hint="give logits as two columns, logit_valid and logit_invalid",
        )
    return made


def read_answers(paths: Sequence[Path]) -> Records:
    """Read a language model's answers, as `PREDICTIONS` without scores, and the ``answer``."""

    def meaning(rows: pl.DataFrame, _: list[str], path: Path) -> pl.DataFrame:
        said = rows.with_columns(score=None, valid=said_valid(pl.col("answer")), refused=_NO_ID)
        return said.with_columns(unparsable=pl.col("valid").is_null())

    roles, columns = "trained_on id! answer|text!", {**PREDICTIONS, "answer": pl.String}
    return _read("predictions of tuples", paths, roles, meaning, columns, _PREDICTED)


def said_valid(answer: pl.Expr) -> pl.Expr:
    """Whether a free answer says valid, invalid, or (null) neither.

    The first word decides if it is yes, true or valid, or no, false or invalid, else the last one
    if it is yes or no; else the answer says what the only ones of these words in it say, unless it
    has a "not".
    """
    words = answer.fill_null("").str.to_lowercase().str.extract_all(r"\p{L}+")
    said = {True: ["yes", "true", "valid"], False: ["no", "false", "invalid"]}
    yes, no = (words.list.set_intersection(pl.lit(some)).list.len() > 0 for some in said.values())
    meant = {word: meaning for meaning, some in said.items() for word in some}
    first, last = (
        one.replace_strict(known, default=None, return_dtype=pl.Boolean)
        for one, known in (
            (words.list.first(), meant),
            (words.list.last(), {"yes": True, "no": False}),
        )
    )
    return pl.coalesce(first, last, pl.when((yes ^ no) & ~words.list.contains("not")).then(yes))


def read_generations(paths: Sequence[Path]) -> Records:
    """Read generated concepts, columns `GENERATIONS`; without an instance it is the head."""

    def meaning(rows: pl.DataFrame, given: list[str], path: Path) -> pl.DataFrame:
        if "id" not in given and not {"head", "relation"} <= {*given}:
            raise SchemaError(
                "the id of a tuple, or head, relation and instance, are required",
                found=f"columns for {first_cases(given)}",
                where=path,
                hint="call the column that holds the ids 'id'",
            )
        known = relations(rows["relation"])
        unnamed = pl.any_horizontal(pl.col("head", "relation").is_null())
        line = pl.col("text").str.strip_chars().str.extract(r"^([^\r\n]*)").str.strip_chars()
        key = pl.when(unnamed).then(pl.lit("missing_key"))
        why = key.when(known.is_null()).then(pl.lit("unknown_relation"))
        return rows.with_columns(
            relation=known,
            instance=pl.coalesce("instance", "head"),
            text=line.fill_null(""),
            refused=pl.when(pl.col("id").is_null()).then(why),
        )

    roles = "head relation instance text|generation|answer!"
    return _read("generated texts", paths, roles, meaning, GENERATIONS)


def read_ratings(paths: Sequence[Path]) -> Records:
    """Read ratings of generated texts, columns `RATED`; without a rater they are one person's."""

    def meaning(rows: pl.DataFrame, _: list[str], path: Path) -> pl.DataFrame:
        refused = _NO_ID.when(pl.col("rating").is_null()).then(pl.lit("missing_rating"))
        named = rows.with_columns(pl.col("rater").fill_null(""), level="rating")
        return named.with_columns(refused=refused)

    roles, keys = "id! rater|annotator rating|level!", ("model", "id", "rater")
    given = _read("ratings of texts", paths, roles, meaning, RATED, keys)
    said = truths(given.frame["level"])
    if said.null_count():
        return given
    levels = said.replace_strict({True: "valid", False: "invalid"}, return_dtype=pl.String)
    return replace(given, frame=given.frame.with_columns(level=levels))


def together(several: Sequence[Records]) -> Records:
    """Predictions of all models of several readings, none for none."""
    frames = (one.frame.select(*PREDICTIONS) for one in several)
    frame = pl.concat([pl.DataFrame(schema=PREDICTIONS), *frames])
    sources = tuple(path for one in several for path in one.sources)
    refuse_repeated(frame, _PREDICTED, sources)
    return Records(frame, sum((Counter(one.ledger) for one in several), Counter[str]()), sources)


def by_number(
    given: Records, dataset: EntailmentDataset, first: int | None, what: str, *, own: bool = True
) -> tuple[Records, tuple[Reading, ...]]:
    """Records by the ids of tuples without ids, which are the numbers of these from 0.

    Args:
        first: The number of the first tuple; None to go by whether the first or last one is named.
        own: Whether they count from 0 where neither is named, as prompts do.

    Raises:
        InputError: If neither is named and there are no usual ones, or both are.
    """
    numbers, last = given.frame["id"].cast(pl.Int64, strict=False), dataset.rows_read
    if not dataset.numbered or not numbers.count():
        return given, ()
    starts = {
        start: Reading(
            f"the first tuple is number {start} in {what}",
            f"tuples have no ids, and number {start * last} is named there",
            int(numbers.is_between(start, last - 1 + start).sum()),
            f"--numbered-from {1 - start}",
            what,
        )
        for start in (0, 1)
    }
    met = [start for start in starts if (numbers == start * last).any()]
    if own and not met:
        starts[0] = replace(starts[0], evidence="prompts number them so, since they have no ids")
        met = [0]
    if first is None and len(met) != 1:
        told = [replace(one, option=f"--numbered-from {start}") for start, one in starts.items()]
        where = ", ".join(map(str, given.sources))
        raise asked("it must be known which number the first tuple has", told, where)
    start = met[0] if first is None else first
    ids = pl.coalesce((numbers - start).cast(pl.String), "id")
    found = replace(given, frame=given.frame.with_columns(id=ids))
    return found, (starts[start],) if first is None else ()


def refuse_foreign(given: Records, ids: pl.Series) -> None:
    """Raise InputError if a model answers by ids alone, and no tuple has any of them."""
    named = pl.col("id").is_null() | pl.col("id").is_in(ids.implode())
    foreign = given.frame.filter(~named.any().over("model"))
    if not foreign.is_empty():
        model = foreign["model"][0]
        cases = foreign.filter(model=model)["id"].unique(maintain_order=True)
        raise InputError(
            "answers must name tuples by their ids",
            found=f"of {model!r}, ids that no tuple has: {first_cases(cases.head(5), len(cases))}",
            where=", ".join(map(str, given.sources)),
            hint="tuples without a column id have the numbers of their records, from 0",
        )


def refuse_repeated(frame: pl.DataFrame, keys: Sequence[str], paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers the same question twice."""
    twice = frame.filter(pl.struct(*keys).is_duplicated()).unique(keys, maintain_order=True)
    if not twice.is_empty():
        cases = twice.head(5).select(pl.concat_str(keys, separator=" ", ignore_nulls=True))
        raise InputError(
            "each model must give one answer to each question",
            found=f"several answers by {first_cases(cases.to_series(), twice.height)}",
            where=", ".join(map(str, paths)),
            hint="models, or draws of one model, need names of their own in a column model",
        )
