"""Sessions of Apache Spark, the tables that it knows by name, and datasets read in them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from audit.base.errors import InputError
from audit.base.files import bare_suffix
from audit.base.machine import require_package
from audit.base.table import AT_ONCE, Table, gathered
from audit.base.tables import open_table
from audit.data.columns import Columns
from audit.data.resolving import resolved
from audit.data.rows import columns_read, is_numbered
from audit.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_REFUSED = re.compile(
    r"^audit\.base\.errors\.\w+: (.+)(?:\nFound: (.+))?(?:\nHint: (.+))?$", re.MULTILINE
)
"""An error of ours, as the trace of a task ends with it."""
_NUMBER = "audit_row"
"""Column of the numbers of rows where each is an instance."""


@dataclass(frozen=True)
class SparkRows:
    """A dataset in a Spark session.

    Args:
        rows: Its rows, with what ``columns`` name.
        columns: Where ids and labels stand, as resolved.
        table: The same rows as a table, which are many.
    """

    rows: DataFrame
    columns: Columns
    table: Table


@contextmanager
def reading(
    dataset: str, master: str | None, stated: Columns, hierarchy: Hierarchy
) -> Iterator[SparkRows]:
    """Read a dataset in the active Spark session, or in one that ends with the block.

    ``dataset`` is a file or folder of Parquet, or a table that Spark knows by this name; ``master``
    the master URL of Spark, None: as its own settings say.
    """
    _refuse_missing()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    path, active = Path(dataset), SparkSession.getActiveSession()
    is_file = path.exists() or len(path.parts) > 1 or bare_suffix(path) == ".parquet"
    table = open_table(path) if is_file else None
    if table and bare_suffix(table.files[0]) != ".parquet":
        raise InputError(
            "files of Parquet or the name of a table are required where Spark counts",
            found=table.files[0].name,
            where=table,
            hint="other files are counted without --engine spark",
        )
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
        rows = session.read.parquet(dataset) if is_file else session.table(dataset)
        table = table or _named(dataset, rows)
        columns = resolved(table, stated, hierarchy)
        if table.class_names.keys() & set(columns.label):
            raise InputError(
                "labels that are text are required where Spark counts",
                found="numbers of classes, whose names are in the metadata",
                where=table,
                hint="they are counted without --engine spark",
            )
        yield _chosen(rows, columns, table)
    except (PySparkException, Py4JError) as error:
        raise _refusal(error) or InputError(
            "a dataset that Spark can read, and a job that it can end, are required",
            found=_cause(error),
            where=dataset,
        ) from None
    finally:
        if active is None:
            session.stop()


def _named(name: str, rows: DataFrame) -> Table:
    """A table that Spark knows by a name, cut to its first rows."""
    first = rows.limit(AT_ONCE)
    schema = pl.DataFrame(pl.from_arrow(rows.limit(0).toArrow())).schema

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        batches = first.select(*(f"`{one}`" for one in columns)).toArrow().to_batches()
        return gathered((pl.DataFrame(pl.from_arrow(one)) for one in batches), at_once)

    return Table(name=name, schema=dict(schema), scan=scan)


def _chosen(rows: DataFrame, columns: Columns, table: Table) -> SparkRows:
    """The columns that are read; where rows are instances they are numbered."""
    if is_numbered(columns, table.schema):
        from pyspark.sql.functions import monotonically_increasing_id

        columns = replace(columns, id=(_NUMBER,))
        rows = rows.withColumn(_NUMBER, monotonically_increasing_id())
    chosen = rows.select(*(f"`{one}`" for one in columns_read(columns, rows.columns)))
    return SparkRows(chosen, columns, table)


def _refuse_missing() -> None:
    """Raise InputError where the package pyspark, or Java, is not installed."""
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


def _refusal(error: Exception) -> InputError | None:
    """What a task refused, if that ended the job."""
    found = _REFUSED.search(_message(error))
    return InputError(found[1], found=found[2] or "", hint=found[3] or "") if found else None


def _message(error: Exception) -> str:
    """The message of the innermost cause of a Spark error in Java, else its own."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    return str(error if java is None else java.getMessage())


def _cause(error: Exception) -> str:
    """The first line of a Spark error that is not indented; of a Python error, behind its trace."""
    text = _message(error)
    lines = text.partition("Traceback (most recent call last):")[2] or text
    messages = (line for line in lines.strip("\n").splitlines() if not line.startswith(" "))
    return next(messages, type(error).__name__)
