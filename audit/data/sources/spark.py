"""Sessions of Apache Spark, the tables that it knows by name, and datasets read in them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from audit.base.errors import InputError
from audit.base.machine import require_package
from audit.base.readings import Reading
from audit.base.text_tables import Preamble
from audit.data.formats import chosen_of
from audit.data.known_nodes import pattern_of
from audit.data.label_format import BEHIND, STATED, Chosen, Columns
from audit.data.label_formats.tables import ROW
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources import File, Source, source_of
from audit.data.sources.source import HEAD, as_cells

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_REFUSED = re.compile(
    r"^audit\.base\.errors\.\w+: (.+)(?:\nFound: (.+))?(?:\nHint: (.+))?$", re.MULTILINE
)
"""An error of ours, as the trace of a task ends with it."""
_READERS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}


BLANK = r"(?U)^\s*$"
"""What a text is that is null once it is tidy: white space of any script."""


class Table(Source):
    """A table that Spark knows by its name; its rows are reached in a session alone."""

    kind = "a table of Spark"


def spark_source(named: str) -> Source:
    """The file or folder of that path, or else the table of that name."""
    path = Path(named)
    if path.exists():
        return source_of(path)
    if len(path.parts) > 1 or File(path).suffix in (*_READERS, ".parquet"):
        raise InputError(
            "a file, a folder or the name of a table is required",
            found="nothing there",
            where=named,
        )
    return Table(named)


class _Rows(Source):
    """The rows of a table that is reached in a session alone."""

    kind = "a table of Spark"

    def __init__(self, table: Source, rows: DataFrame) -> None:
        super().__init__(str(table))
        self._rows = rows

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        return _columns(self._rows)

    @cached_property
    def head_rows(self) -> list[list[str]]:
        return as_cells(pl.DataFrame(pl.from_arrow(self._rows.limit(HEAD).toArrow())))

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        return next((row.asDict() for row in self._rows.select(*columns).tail(1)), {})

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        return iter(self._rows.select(*columns).toArrow().to_batches(at_once))


@dataclass(frozen=True)
class Read:
    """A dataset read in a Spark session."""

    rows: DataFrame
    id: str
    label: str
    readings: tuple[Reading, ...] = ()
    rules: RowRules = EVERY


@contextmanager
def reading(
    source: Source, master: str | None, columns: Columns, format: str | None = None
) -> Iterator[Read]:
    """Read a dataset in the active Spark session, or in one that ends with the block.

    ``source`` is a file or folder of Parquet, CSV, TSV or JSON lines, or a `Table`; ``master`` the
    master URL of Spark, None: as its own settings say.
    """
    _refuse_missing()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    try:
        session = _session(master)
    except (PySparkException, Py4JError) as error:
        raise InputError(
            "a session of Spark is required",
            found=_cause(error),
            where=master,
            hint="--master local[2] runs it on two cores of this machine",
        ) from None
    try:
        rows = _rows(session, source)
        asked = _Rows(source, rows) if isinstance(source, Table) else source
        chosen = chosen_of(asked, columns, format)
        if asked.class_names.keys() & set(chosen.labels):
            raise InputError(
                "labels that are text are required where Spark counts",
                found="numbers of classes, whose names are in the metadata",
                where=source,
                hint="--memory 2GB counts them in batches",
            )
        yield _chosen(rows, chosen)
    except (PySparkException, Py4JError) as error:
        raise _refusal(error) or InputError(
            "a dataset that Spark can read, and a job that it can end, are required",
            found=_cause(error),
            where=source,
        ) from None
    finally:
        if active is None:
            session.stop()


def _chosen(rows: DataFrame, chosen: Chosen) -> Read:
    """The rows with a column of ids, and one of labels or of arrays of them."""
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType

    id, label = ROW if chosen.id is None else chosen.id, chosen.labels[0]
    if chosen.id is None:
        rows = rows.withColumn(ROW, functions.monotonically_increasing_id())
    name = STATED if chosen.tables else label

    def behind(table: str | None, text: Column) -> Column:
        stated = functions.lit((table or "") + BEHIND)
        return functions.concat(stated, text) if chosen.tables else text

    def parts(column: str, table: str | None) -> Column:
        text = rows[f"`{column}`"].cast("string")
        several = functions.split(text, pattern_of(chosen.sign or ""))
        cells = several if chosen.sign else functions.array(text)
        filled = functions.filter(cells, lambda cell: ~cell.rlike(BLANK))
        stated = functions.transform(filled, partial(behind, table))
        return functions.coalesce(stated, functions.array().cast("array<string>"))

    every, found = zip_longest(chosen.labels, chosen.tables), rows[f"`{label}`"]
    if chosen.each or chosen.joined:
        found = functions.concat(*(parts(column, table) for column, table in every))
    elif chosen.tables and isinstance(rows.schema[label].dataType, ArrayType):
        found = functions.transform(found, partial(behind, chosen.tables[0]))
    elif chosen.tables:
        found = behind(chosen.tables[0], found.cast("string"))
    else:
        return Read(rows, id, label, chosen.readings, chosen.rules)
    rows = rows.select(id, found.alias(name), *chosen.rules.roles.values())
    return Read(rows, id, name, chosen.readings, chosen.rules)


def _refuse_missing() -> None:
    require_package("pyspark", "for --engine spark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home, "bin")) if home else None) is None:
        raise InputError(
            "Java 17 is required for --engine spark",
            found=f"no java in JAVA_HOME: {home}" if home else "no java on the PATH",
            hint="install it, or set JAVA_HOME",
        )


def _session(master: str | None) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    building = SparkSession.builder.appName("audit").config("spark.ui.showConsoleProgress", "false")
    session = (building.master(master) if master else building).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _rows(session: SparkSession, source: Source) -> DataFrame:
    if isinstance(source, Table):
        return session.table(source.name)
    suffix = File(source.files[0]).suffix if source.files else ""
    whole = session.read.option("mode", "FAILFAST")
    match _READERS.get(suffix):
        case "csv":
            if source.preamble != Preamble():
                raise InputError(
                    "a table that begins with its header is required where Spark counts",
                    found="lines of notes before it, or blanks before quotes",
                    where=source,
                    hint="--memory 2GB counts it in batches",
                )
            sign = source.separator
            where = str(source.path) if isinstance(source, File) else source.name
            return whole.csv(where, header=True, sep=sign, quote='"', escape='"')
        case "json":
            return whole.json(source.name)
    return session.read.parquet(source.name)


def _refusal(error: Exception) -> InputError | None:
    """What a task refused, if that ended the job."""
    found = _REFUSED.search(_message(error))
    return InputError(found[1], found=found[2] or "", hint=found[3] or "") if found else None


def _message(error: Exception) -> str:
    """The message of the first cause of a Spark error."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    return str(error if java is None else java.getMessage())


def _cause(error: Exception) -> str:
    """The line of a Spark error that says what is wrong; for a Python error, after its trace."""
    text = _message(error)
    lines = text.partition("Traceback (most recent call last):")[2] or text
    messages = (line for line in lines.strip("\n").splitlines() if not line.startswith(" "))
    return next(messages, type(error).__name__)


def _columns(rows: DataFrame) -> dict[str, pl.DataType]:
    """Columns and their types, as far as they tell labels from lists of them."""
    from pyspark.sql.types import ArrayType

    listed, plain = pl.List(pl.String), pl.String()
    return {
        field.name: listed if isinstance(field.dataType, ArrayType) else plain
        for field in rows.schema.fields
    }
