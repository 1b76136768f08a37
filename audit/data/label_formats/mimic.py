"""MIMIC-III and MIMIC-IV: codes of hospital admissions, and the tables beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in
from audit.base.readings import Reading
from audit.data.label_format import Columns, LabelFormat, Layout, RawLabels, raw_labels
from audit.data.records import STRATUM, pick, present
from audit.data.sources import File, Folder, Source
from audit.data.unnamed_columns import candidates, together, unnamed_columns
from audit.policy.policy import KEYS_OF_COLUMNS

KEYS = ("hadm_id", "subject_id")
"""Keys by which the other tables are joined to the tables of codes, the narrower key first."""

_TABLES = {
    "hadm_id": re.compile(r"admissions\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
    "subject_id": re.compile(r"patients\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
}


def columns_beside(
    rows: pl.DataFrame, wanted: Mapping[str, str], tables: Sequence[Source]
) -> tuple[list[pl.DataFrame], list[File]]:
    """Wanted columns, by role, of the instances, from the tables beside the tables of codes.

    ``rows`` have ``instance`` and those of `KEYS` that the tables of codes have. A frame of
    ``instance`` and the role for each column, and the files that were read.
    """
    found = {role: _place_of(name, tables, rows.columns) for role, name in wanted.items()}
    frames = [_joined(rows, role, wanted[role], *place) for role, place in found.items()]
    return frames, list(dict.fromkeys(file for _, file in found.values()))


def unnamed_beside(
    rows: pl.DataFrame, taken: Collection[str], tables: Sequence[Source]
) -> tuple[list[pl.DataFrame], list[File]]:
    """Possible strata, from the tables beside the tables of codes, that the user did not name.

    A frame of ``instance`` and such columns for each table with one of the keys that ``rows`` have,
    and the files that were read.
    """
    keyed = [(key, file) for key, file in _admission_tables(tables) if key in rows.columns]
    read = [(key, file) for key, file in keyed if key in file.columns]
    return [_unnamed_in(file, key, rows, taken) for key, file in read], [file for _, file in read]


def _unnamed_in(file: File, key: str, rows: pl.DataFrame, taken: Collection[str]) -> pl.DataFrame:
    table = file.table()
    few = {f"{STRATUM}{name}": name for name in candidates(table, (*KEYS, *taken))}
    values = pick(table, file, key=key, **few)
    joined = rows.select("instance", key).unique().join(values, left_on=key, right_on="key")
    return unnamed_columns(joined.drop(key).rename(few), "instance", (), file)


def _place_of(name: str, tables: Sequence[Source], keys: Sequence[str]) -> tuple[str, File]:
    """Key and file of the first table beside the codes that has a column of that name."""
    beside = _admission_tables(tables)
    for key, file in beside:
        if key in keys and name.lower() in file.columns:
            return key, file
    read = (*tables, *(file for _, file in beside))
    searched = first_cases(Path(source.name).name for source in read)
    raise SchemaError(
        f"a column named {name!r} is required",
        found=f"none in {searched}",
        where=next(iter(folders_of(tables)), tables[0]),
        hint=f"{KEYS_OF_COLUMNS} of the policy name columns of the tables "
        "of codes, of ADMISSIONS or of PATIENTS",
    )


def folders_of(tables: Iterable[Source]) -> list[Path]:
    """The folders that tables are in, sorted; none for tables that are in no file."""
    paths = (table.path for table in tables if isinstance(table, (File, Folder)))
    return sorted({path.parent for path in paths})


def _admission_tables(tables: Sequence[Source]) -> list[tuple[str, File]]:
    return [
        (key, File(entry))
        for key in KEYS
        for folder in folders_of(tables)
        for entry in files_in(folder)
        if _TABLES[key].fullmatch(entry.name) and entry.is_file()
    ]


def _joined(rows: pl.DataFrame, role: str, name: str, key: str, file: File) -> pl.DataFrame:
    values = pick(file.table(), file, **{key: key, role: name})
    return rows.select("instance", key).unique().join(values, on=key, how="inner").drop(key)


_SUFFIX = r"\.(?:csv|csv\.gz|parquet)"
_TABLE = re.compile(rf"(diagnoses|procedures)_icd{_SUFFIX}", re.IGNORECASE)
_UNNAMED = "unnamed:"
_DICTIONARY = re.compile(rf"d_icd_(?:diagnoses|procedures){_SUFFIX}", re.IGNORECASE)


def matcher(required: Collection[str], *subfolders: str) -> Callable[[Source], bool]:
    """A function that says whether a table, or one found in a folder, has the required columns."""

    def matches(source: Source) -> bool:
        if isinstance(source, Folder):
            tables = _named_tables(source, subfolders)
            return any(map(matches, tables)) if tables else _are_tables(source, required)
        return set(required) <= source.columns.keys()

    return matches


def _are_tables(folder: Folder, required: Collection[str]) -> bool:
    """Whether the parts of a folder all have the required columns."""
    return bool(folder.parts) and all(set(required) <= part.columns.keys() for part in folder.parts)


def tables_of(source: Source, *subfolders: str) -> list[Source]:
    """The table itself, or the diagnoses and procedures that a folder holds.

    A folder with neither, but with parts of a table that has admissions, is that table.
    """
    if not isinstance(source, Folder):
        return [source]
    tables = _named_tables(source, subfolders)
    if not tables and _are_tables(source, {"hadm_id"}):
        return [source]
    if not tables:
        raise InputError(
            "a folder with DIAGNOSES_ICD or PROCEDURES_ICD (.csv, .csv.gz, .parquet) is required",
            found=first_cases(entry.path.name for entry in source.entries) or "an empty folder",
            where=source,
        )
    for kind in ("diagnoses", "procedures"):
        same = [table for table in tables if kind_of(table) == kind]
        if len(same) > 1:
            raise InputError(
                f"a folder must hold the table of {kind} once",
                found=first_cases(str(table.path.relative_to(source.path)) for table in same),
                where=source,
                hint="keep one of them",
            )
    return [*tables]


def _dictionaries_beside(tables: Collection[Source]) -> list[Path]:
    """Title dictionaries, D_ICD_DIAGNOSES and D_ICD_PROCEDURES, in the folders of the tables."""
    entries = [entry for folder in folders_of(tables) for entry in files_in(folder)]
    return [entry for entry in entries if _named(entry, _DICTIONARY)]


def kind_of(table: Source) -> str | None:
    """``diagnoses`` or ``procedures``, according to the file name; None if it says neither."""
    name = Path(table.name).name.lower()
    return next((kind for kind in ("diagnoses", "procedures") if kind in name), None)


def coded_rows(frame: pl.DataFrame, table: Source, columns: Columns, code: str) -> pl.DataFrame:
    """The rows of one table of codes, with the admission as instance and the patient as group.

    Strata that the table lacks are looked up in the tables beside it once all tables are read.
    """
    roles = {
        "instance": columns.id or "hadm_id",
        "label": columns.label or code,
        "group": columns.group or present(frame, "subject_id"),
        "split": columns.split,
        "position": present(frame, "seq_num"),
        **{key: present(frame, key) for key in KEYS},
        **{f"{STRATUM}{name}": present(frame, name.lower()) for name in columns.strata},
        **columns.rules.roles,
    }
    table.refuse_numbers(columns.id or "hadm_id", columns.label or code)
    others = candidates(frame, [name for name in roles.values() if name])
    return _tidied(pick(frame, table, **roles, **{f"{_UNNAMED}{name}": name for name in others}))


def labels_of(
    rows: Sequence[pl.DataFrame],
    source: Source,
    tables: Sequence[Source],
    columns: Columns,
    code: str,
) -> RawLabels:
    """The raw labels of all tables, with dictionaries and strata from the files beside them."""
    every = pl.concat(rows, how="diagonal")
    absent = {role: name for role, name in columns.further.items() if role not in every.columns}
    beside, found_in = columns_beside(every, absent, tables)
    taken = [*filter(None, [columns.id]), *columns.beside.values()]
    unnamed, looked_at = unnamed_beside(every, taken, tables)
    read = (*tables, *found_in, *looked_at)
    return raw_labels(
        every,
        pl.concat([every, *beside], how="diagonal"),
        source,
        columns.rules,
        sources=tuple(dict.fromkeys(file for table in read for file in table.files)),
        titles=tuple(_dictionaries_beside(tables)),
        unnamed=together([_unnamed_among(every, source), *unnamed]),
        readings=_without_order(every),
        layout=Layout(columns.id or "hadm_id", (columns.label or code,)),
    )


def _unnamed_among(rows: pl.DataFrame, source: Source) -> pl.DataFrame:
    """Columns of the tables of codes that nobody named and that part the instances."""
    roles = [role for role in rows.columns if role.startswith(_UNNAMED)]
    named = {role: role.removeprefix(_UNNAMED) for role in roles}
    table = rows.select("instance", *roles).rename(named)
    return unnamed_columns(table, "instance", (), source)


def _tidied(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with NULL as null and ``position`` as a number; ``unread`` is what is no position."""
    rows = rows.with_columns(
        pl.when(~pl.col(pl.String).is_in(["NULL", "null", "Null"])).then(pl.col(pl.String))
    )
    if "position" not in rows.columns:
        return rows
    number = rows["position"].cast(pl.Float64, strict=False)
    position = number.cast(pl.Int64, strict=False)
    whole = (position == number).fill_null(False)
    return rows.with_columns(
        position=pl.when(whole).then(position), unread=pl.when(~whole).then("position")
    )


def _without_order(rows: pl.DataFrame) -> tuple[Reading, ...]:
    """What is said of positions that are no whole numbers."""
    if "unread" not in rows.columns or (unread := rows["unread"].drop_nulls()).is_empty():
        return ()
    why = f"SEQ_NUM is no whole number: {first_cases(unread.unique(maintain_order=True))}"
    decision, option = "the order of labels is not known", "whole numbers in SEQ_NUM"
    return (Reading(decision, why, len(unread), option),)


def _named_tables(folder: Folder, subfolders: Collection[str]) -> list[File]:
    entries = list(folder.entries)
    for entry in folder.entries:
        if isinstance(entry, Folder) and entry.path.name.lower() in subfolders:
            entries += entry.entries
    named = (entry for entry in entries if isinstance(entry, File) and _named(entry.path, _TABLE))
    return sorted(named, key=lambda table: (str(kind_of(table)), table.path))


def _named(entry: Path, name: re.Pattern[str]) -> bool:
    return name.fullmatch(entry.name) is not None and entry.is_file()


def read_third(source: Source, columns: Columns) -> RawLabels:
    """Read MIMIC-III: the tables of a folder, or one table; the group is the patient by default."""
    tables = tables_of(source)
    rows = [_third(table, columns) for table in tables]
    return labels_of(rows, source, tables, columns, "icd9_code")


def read_fourth(source: Source, columns: Columns) -> RawLabels:
    """Read MIMIC-IV: the tables of a folder or its ``hosp`` subfolder, or one table.

    ``table`` is ``diagnoses`` or ``procedures`` for ICD-9, ``diagnoses-10`` or ``procedures-10``
    for ICD-10, as ``icd_version`` says unless the user names another column; a row without a
    version is refused as ``bad_row``. Groups are patients.
    """
    rules = replace(columns.rules, version_column=columns.rules.version_column or "icd_version")
    columns, tables = replace(columns, rules=rules), tables_of(source, "hosp")
    rows = [_fourth(table, columns) for table in tables]
    return labels_of(rows, source, tables, columns, "icd_code")


def _third(table: Source, columns: Columns) -> pl.DataFrame:
    rows = coded_rows(table.table(), table, columns, "icd9_code")
    return rows.with_columns(table=pl.lit(kind_of(table), pl.String))


def _fourth(table: Source, columns: Columns) -> pl.DataFrame:
    frame = table.table()
    kind = kind_of(table) or ("procedures" if present(frame, "chartdate") else "diagnoses")
    return coded_rows(frame, table, columns, "icd_code").with_columns(table=pl.lit(kind))


MIMIC_III = LabelFormat(
    name="mimic3",
    title="a folder with DIAGNOSES_ICD or PROCEDURES_ICD, or such a table with HADM_ID, ICD9_CODE",
    matches=matcher({"hadm_id", "icd9_code"}),
    read=read_third,
    of_folders=True,
    persons=True,
)
MIMIC_IV = LabelFormat(
    name="mimic4",
    title="a folder with diagnoses_icd or procedures_icd, or such a table with hadm_id, icd_code,"
    " icd_version",
    matches=matcher({"hadm_id", "icd_code", "icd_version"}, "hosp"),
    read=read_fourth,
    of_folders=True,
    persons=True,
)
