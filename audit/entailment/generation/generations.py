"""Generated concepts as read from files, and tables of what was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.schemas import schema
from audit.data.records import Records, records
from audit.data.sources import File
from audit.entailment.reading.answer_columns import (
    sound_rows,
    with_every_role,
)
from audit.entailment.reading.values import relations

MEASURED = schema(
    ("model relation split measure", pl.String),
    ("value low high", pl.Float64),
    ("n", pl.Int64),
    ("references", pl.Float64),
)
"""One row per model, relation (or "All", where there are several) and measure, of ``n`` instances
with a text of the model and ``references`` references each on average. ``measure`` is
``bleu_1_precision`` and ``bleu_2_precision``, the clipped precisions that *AbsPyramid* prints as
BLEU-1 and BLEU-2; ``brevity_penalty``; ``bleu_1`` and ``bleu_2``, the cumulative ones with it;
``rouge_2_recall``; ``rouge_l_f1``; ``exact_match``; and ``meteor`` where it was asked for. All are
shares from 0 to 1; BLEU is of the corpus, the others are means over instances. ``low`` and ``high``
bound the 95 % interval: percentiles of a bootstrap over (head, instance). ``split`` is "test", or
"all" where the data have no test set."""

COVERAGE = schema(
    ("model relation split", pl.String),
    ("instances generated blank missing", pl.Int64),
)
"""One row per model and relation (or "All"): instances with a reference, those for which the model
has a text, how many of these texts are blank (they score 0), and those without any."""

RATINGS = schema(
    ("model relation level", pl.String),
    ("share low high", pl.Float64),
    ("ratings items", pl.Int64),
)
"""One row per model, relation (or "All") and level: the share of ``ratings`` at that level, on
``items`` rated texts, with its 95 % interval (Wilson's at the effective number of ratings). Levels
are "valid" and "invalid", or as the file names them; a model has a row for each level."""

AGREEMENT = schema(
    ("model relation measure", pl.String),
    ("value low high", pl.Float64),
    ("items ratings raters", pl.Int64),
)
"""One row per model, relation (or "All") and ``measure`` of how far raters agree: ``pairwise``,
``fleiss`` (null where texts differ in their number of ratings) and ``alpha``, Krippendorff's for
nominal data, over the ``items`` with two ratings or more; their 95 % intervals by a bootstrap over
items. There is no row where no text has two ratings."""


@dataclass(frozen=True, eq=False)
class GenerationMeasurements:
    """How well models name concepts of instances.

    Args:
        measured: Measures by model and relation, columns `MEASURED`.
        coverage: What models generated, columns `COVERAGE`.
        ratings: What people say of texts, columns `RATINGS`.
        agreement: How far they agree, columns `AGREEMENT`.
        ledger: ``rows_read``; ``used``; ``repeated``, the same text for the same instance again;
            ``unknown``, texts for instances that the data set lacks; ``other_split``, those for
            instances in other splits than the measured one; ``without_reference``, those for
            instances of which no concept is valid; and rows refused when read, by reason. All but
            the first add up to the first.
        rating_ledger: The same of ratings: ``rows_read, used, unknown_id`` and refused rows.
    """

    measured: pl.DataFrame
    coverage: pl.DataFrame
    ratings: pl.DataFrame
    agreement: pl.DataFrame
    ledger: Mapping[str, int]
    rating_ledger: Mapping[str, int]


GENERATIONS = schema(("model id head relation instance text", pl.String))
"""One row per text: the first line of it that is not blank, empty if there is none. It is for the
instance of the tuple ``id``, or for that of ``head``, ``relation`` and ``instance`` where ``id`` is
null."""

MISSING_KEY, UNKNOWN_RELATION = "missing_key", "unknown_relation"
"""Why a row is refused: no id, nor head and relation; or an unknown relation."""

ROLES = {
    "id": ("id",),
    "model": ("model",),
    "head": ("head",),
    "relation": ("relation",),
    "instance": ("instance",),
    "text": ("text", "generation", "answer"),
}
"""Names of columns by role."""


def read_generations(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> Records:
    """Read generated concepts, columns `GENERATIONS`, from CSV, TSV, JSON lines or Parquet.

    A file has a ``text`` (or ``generation``, or ``answer``), and the ``id`` of a tuple whose
    instance it is for, or ``head``, ``relation`` and ``instance``; without an instance it is the
    head. ``model`` is the file's name without suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, or no row can be used.
        SchemaError: If a column is missing.
    """
    parts = [_read(path, columns or {}) for path in paths]
    return sound_rows(parts, GENERATIONS, "generated texts", paths)


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """The rows of a file with why they are refused, null if they are not."""
    table = records(File(path), ROLES, columns, ("text",)).frame
    if "id" not in table.columns and not {"head", "relation"} <= set(table.columns):
        raise SchemaError(
            "the id of a tuple, or head, relation and instance, are required",
            found=f"columns for {first_cases(table.columns)}",
            where=path,
            hint="name another with id=COLUMN",
        )
    whole = with_every_role(table, ROLES, path)
    named = pl.col("head").is_not_null() & pl.col("written").is_not_null()
    unknown = pl.col("id").is_null() & pl.col("relation").is_null()
    return whole.with_columns(
        written="relation",
        relation=relations(whole["relation"]),
        instance=pl.coalesce("instance", "head"),
        text=first_line(pl.col("text")),
    ).with_columns(
        refused=pl.when(pl.col("id").is_null() & ~named)
        .then(pl.lit(MISSING_KEY))
        .when(unknown)
        .then(pl.lit(UNKNOWN_RELATION))
    )


def first_line(text: pl.Expr) -> pl.Expr:
    """The first line that is not blank, without blanks around it; empty text if there is none."""
    line = text.str.strip_chars().str.extract(r"^([^\r\n]*)")
    return line.str.strip_chars().fill_null("")
