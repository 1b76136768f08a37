"""The tables of OMOP CDM, in a folder or a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.columnar import parquet_schema, plain_batch, polars_of
from audit.base.databases import Opened, telling
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in, first_bytes
from audit.base.queries import names_in, quoted, reader_of

CODES, RELATIONSHIP = "concept", "concept_relationship"
_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet")
_AT_ONCE = 131_072
"""Rows of a file that are held at a time."""


class Tables:
    """The tables of a CDM in a folder, by their names in lower case; columns are text."""

    listed = "the files"
    hint = "the vocabularies are downloaded from Athena as CONCEPT.csv and others"

    def __init__(self, place: Path | Opened) -> None:
        self.place = place

    def __str__(self) -> str:
        return str(self.place)

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The file of each table."""
        assert isinstance(self.place, Path)
        named = [(one.name.lower(), one) for one in files_in(self.place) if one.is_file()]
        ends = [(name.partition("."), one) for name, one in named]
        return {stem: one for (stem, dot, end), one in ends if dot + end in _ENDINGS}

    def frames(
        self, name: str, columns: Sequence[str], further: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Some columns of a table, some rows at a time, with blank cells as null.

        The first frame may have no rows; ``further`` are columns where the table has them.
        """
        if name not in self.names:
            listed = first_cases(str(getattr(one, "name", one)) for one in self.names.values())
            raise InputError(
                f"the table {name} of OMOP is required",
                found=f"{self.listed} {listed}",
                where=self,
                hint=self.hint,
            )
        own = {one.strip('" \r').lower(): one for one in self._columns(name)}
        if lacking := [one for one in columns if one not in own]:
            required, where = f"the columns {first_cases(columns)} are required", self._where(name)
            raise SchemaError(required, found=f"no {first_cases(lacking)}", where=where)
        kept = {one: own[one] for one in (*columns, *further) if one in own}
        text = [pl.col(o).cast(pl.String).str.strip_chars().alias(n) for n, o in kept.items()]
        yield pl.DataFrame(schema=dict.fromkeys(kept, pl.String))
        for frame in self._frames(name, [*kept.values()]):
            yield frame.select(text).with_columns(
                pl.when(pl.all() != "").then(pl.all()).name.keep()
            )

    def read(
        self, name: str, columns: Sequence[str], further: Sequence[str] = (),
        keep: pl.Expr | bool = True,
    ) -> pl.DataFrame:  # fmt: skip
        """All rows of a table that are kept."""
        return pl.concat(one.filter(keep) for one in self.frames(name, columns, further))

    def _where(self, name: str) -> object:
        return self.names[name]

    def _columns(self, name: str) -> Sequence[str]:
        return self._scanned(name).collect_schema().names()

    def _frames(self, name: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        try:
            yield from self._scanned(name).select(columns).collect_batches(chunk_size=_AT_ONCE)
        except (pl.exceptions.PolarsError, OSError) as error:
            required = "tables of OMOP that can be read are required"
            found = str(error).split("\n")[0]
            raise InputError(required, found=found, where=self) from None

    def _scanned(self, name: str) -> pl.LazyFrame:
        file = self.names[name]
        if file.suffix == ".parquet":
            parquet_schema(file)
            return pl.scan_parquet(file)
        head = first_bytes(file).decode("utf-8-sig", "replace").split("\n")[0]
        sign = max("\t,;|", key=head.count)
        quote = None if sign == "\t" else '"'  # Athena writes quotes in names as they are
        if not head.strip():
            raise InputError("a table with a header is required", found="none", where=file)
        return pl.scan_csv(file, separator=sign, quote_char=quote, infer_schema=False)


class TablesOfBase(Tables):
    """The tables of the schema that a connection to a database is in."""

    listed = "the tables"
    hint = (
        "other tables than those of OMOP are read by --sql or --table, with --hierarchy; in "
        "PostgreSQL ?options=-csearch_path%3DSCHEMA behind the address names another schema"
    )

    def __init__(self, place: Opened) -> None:
        super().__init__(place)
        self.base = place

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each table as it is written."""
        found = self.base
        if found.kind is None:
            return {}
        return {one.lower(): one for one in names_in(found, found.kind.near)}

    def _where(self, name: str) -> str:
        return f"{self}: {self.names[name]}"

    def _columns(self, name: str) -> Sequence[str]:
        query = f"SELECT * FROM {quoted(self.names[name])} LIMIT 0"
        with telling(str(self)), reader_of(self.base.connection, query, self.base.kind) as reader:
            return [*reader.schema.names]

    def _frames(self, name: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        import pyarrow as pa

        chosen = ", ".join(f"CAST({one} AS TEXT) AS {one}" for one in map(quoted, columns))
        query = f"SELECT {chosen} FROM {quoted(self.names[name])}"
        with telling(str(self)), reader_of(self.base.connection, query, self.base.kind) as reader:
            for batch in reader:
                yield polars_of(pa.Table.from_batches([plain_batch(batch, str(self))]))
