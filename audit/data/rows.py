"""Rows of labels: what each row of a table says of which instance, some rows at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import polars as pl

from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.table import AT_ONCE, Table, name_among
from audit.data.class_lists import GivenClasses, class_number, named_numbers, refuse_unused
from audit.data.columns import ROW, Columns
from audit.data.labels import labels_in
from audit.data.layouts import version_of
from audit.data.records import as_ids, tidy
from audit.hierarchies.coding import VERSIONS

ROWS = schema(
    ("instance label", pl.String),
    ("position", pl.Int64),
    ("table refused", pl.String),
    ("counted", pl.Boolean),
    ("row", pl.Int64),
)
"""First columns of rows of labels, one an assertion.

``label`` is null where a row has none, ``position`` its place in the record, from 1, if there is an
order; ``table`` is the code set that it is of, ``refused`` a reason of the ledger that is known
already; ``counted`` is false of the one row of an instance without labels, which is no assertion;
``row`` is the number of the row of the table, from 0. ``group``, ``split`` and the strata follow.
"""
STRATUM = "stratum:"
"""What the names of columns of strata begin with among rows."""
BETWEEN = "|"
"""What joins the columns of an id."""
ClassNames: TypeAlias = Mapping[str, str]
"""Names of classes by their numbers, as text, in order."""

SCIENTIFIC = r"^-?\d(\.\d+)?E\+\d+$"
_CONDITION = re.compile(r"\s*([^=!]+?)\s*(!?=)\s*(.*?)\s*", re.DOTALL)
YES = ("1", "1.0", "true")
FLAGS = frozenset((*YES, "0", "0.0", "false"))
"""What says in lower case whether a class is a label."""


def rows_of(
    table: Table,
    columns: Columns,
    classes: ClassNames | None = None,
    at_once: int = AT_ONCE,
    beside: Sequence[str] = (),
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The rows of a table as frames of `ROWS`, each with the rows of the table, about so many at a
    time, of which it is made.

    Args:
        table: The table; one without rows gives no frame.
        columns: Where ids and labels stand, as resolved.
        classes: Names of class numbers; None: those that the table itself says, if any.
        beside: Further columns that the rows of the table shall have.

    Raises:
        InputError: If ids are in scientific notation, a number has no class, or a version is none.
        SchemaError: If ids or labels are numbers that lost what they were.
    """
    classes, first = classes or own_classes(table, columns), 0
    for frame in table.frames([*columns_read(columns, table.schema), *beside], at_once):
        yield rows_in(frame, columns, classes, first, table), frame
        first += frame.height


def completed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the columns of `ROWS` that they lack, null; then those that they have besides."""
    both = pl.concat([pl.DataFrame(schema=ROWS), rows], how="diagonal_relaxed")
    return both.with_columns(pl.col(name).cast(kind) for name, kind in ROWS.items())


def own_classes(table: Table, columns: Columns) -> ClassNames | None:
    """The names that a table itself gives to numbers of classes."""
    names = next(filter(None, map(table.class_names.get, columns.label)), ())
    return {str(number): name for number, name in enumerate(names)} or None


def used_classes(
    frame: pl.DataFrame,
    columns: Columns,
    classes: ClassNames | None,
    where: object,
    given: GivenClasses = None,
) -> ClassNames | None:
    """The names of classes where labels are their numbers; None of other labels, beside which a
    list that a user gives is refused."""
    if classes is None or columns.flags:
        return classes
    cells = tidy(frame.select(columns.label), where, columns.label)
    labels = pl.concat([labels_in(one, columns).explode() for one in cells]).drop_nulls()
    others = [
        one
        for one in labels.unique(maintain_order=True)
        if one != "-1" and class_number(one) is None
    ]
    if others:
        refuse_unused(given, others, where)
    return None if others else classes


def is_numbered(columns: Columns, names: Collection[str]) -> bool:
    """Whether rows are instances that are numbered, in a table of columns of such names."""
    return columns.id == (ROW,) and ROW not in names


def columns_read(columns: Columns, names: Collection[str]) -> list[str]:
    """The columns of a table of such names that its rows of labels are made of."""
    ids = () if is_numbered(columns, names) else columns.id
    ways = (columns.group, columns.split, columns.position, columns.version)
    conditions = _conditions(columns, names)
    every = (*ids, *columns.label, *ways, columns.table, columns.refused, *columns.strata)
    return [*dict.fromkeys(filter(None, (*every, *conditions)))]


def rows_in(
    frame: pl.DataFrame,
    columns: Columns,
    classes: ClassNames | None = None,
    first: int = 0,
    where: object = "",
) -> pl.DataFrame:
    """The rows of labels of some rows of a table, of which the first has that number."""
    about = _about(frame, columns, first, where)
    if columns.flags:
        return _finished(_flagged(about, frame, columns, classes, where), columns)
    cells = [_cells(frame, one, classes is not None, where) for one in columns.label]
    single = len(cells) == 1 and not (columns.sep or columns.take or cells[0].dtype.is_nested())
    if single and not cells[0].str.starts_with("[").any():
        rows = about.with_columns(label=cells[0], which=0, counted=True)
    else:
        rows = _exploded(about, [labels_in(one, columns) for one in cells])
    if single:
        blank = cells[0].is_null().gather(rows["row"] - first)
        rows = rows.with_columns(counted=pl.col("counted") | blank)
    if classes is not None:
        rows = rows.with_columns(_named(rows["label"], classes, where))
    return _finished(rows, columns)


def _exploded(about: pl.DataFrame, lists: Sequence[pl.Series]) -> pl.DataFrame:
    """A row for each label of a row, with the number of its column; without one a row that is no
    assertion unless its instance is not known."""
    cells = {f"cell {n}": one for n, one in enumerate(lists)}
    numbers = (pl.lit(n, pl.Int32).repeat_by(pl.col(c).list.len()) for n, c in enumerate(cells))
    held = about.with_columns(**cells)
    both = held.with_columns(label=pl.concat_list(*cells), which=pl.concat_list(*numbers))
    some = pl.col("label").list.len() > 0
    counted = both.with_columns(
        pl.when(some).then(pl.col("label", "which")), counted=some | pl.col("instance").is_null()
    )
    return counted.drop(*cells).explode("label", "which")


def _conditions(
    columns: Columns, names: Collection[str], where: object = ""
) -> dict[str, list[tuple[str, str]]]:
    """Signs and values of the conditions on rows, by the column as it is written."""
    found = dict[str, list[tuple[str, str]]]()
    for one in columns.where:
        parts = _CONDITION.fullmatch(one)
        if parts is None:
            raise InputError("rows are chosen by COLUMN=VALUE or COLUMN!=VALUE", found=one)
        column = name_among([*names], parts[1], where, "name another with --where COLUMN=VALUE")
        found.setdefault(column, []).append((parts[2], parts[3]))
    return found


def _text(frame: pl.DataFrame, name: str, where: object) -> pl.Series:
    return tidy(frame.select(name), where).to_series()


def _about(frame: pl.DataFrame, columns: Columns, first: int, where: object) -> pl.DataFrame:
    """What a row says besides its labels: instance, reason, and by role what else is there."""
    text = partial(_text, frame, where=where)
    roles = {"group": columns.group, "split": columns.split, "own": columns.table}
    roles |= {"at": columns.position, "version": columns.version, "reason": columns.refused}
    roles |= {STRATUM + one: one for one in columns.strata}
    said = {role: text(one) for role, one in roles.items() if one}
    if columns.group:
        said["group"] = as_ids(said["group"])
    row = pl.int_range(first, first + frame.height, dtype=pl.Int64, eager=True)
    numbered = is_numbered(columns, frame.columns)
    ids = row.cast(pl.String) if numbered else _ids(frame, columns.id, where)
    homeless, out = ids.is_null(), left_out(frame, columns, where)
    about = pl.DataFrame({"instance": ids, "row": row, **said})
    reasons = pl.when(homeless).then(pl.lit("bad_row")).when(out).then(pl.lit("left_out"))
    published = ["reason"] if columns.refused else []
    about = about.with_columns(refused=pl.coalesce(reasons, *published))
    if columns.version:
        told = _versions(said["version"], about["refused"].is_null(), columns.version, where)
        lost = pl.when(told.is_null()).then(pl.lit("bad_row"))
        about = about.with_columns(version=told, refused=pl.coalesce("refused", lost))
    return about


def _ids(frame: pl.DataFrame, names: Sequence[str], where: object) -> pl.Series:
    parts = []
    for name in names:
        values = frame[name]
        if values.dtype.is_float() and (values.floor() != values).any():
            raise SchemaError(
                f"the ids in {name!r} must be text or whole numbers",
                found=str(values.dtype),
                where=where,
                hint="read the file with this column as text",
            )
        part = as_ids(_text(frame, name, where))
        refuse_rounded(part, name, where)
        if len(names) > 1 and part.str.contains(BETWEEN, literal=True).any():
            raise InputError(
                f"ids of several columns are joined by {BETWEEN}, which these must lack",
                found=f"{BETWEEN} in {name!r}",
                where=where,
            )
        parts.append(part)
    if len(parts) == 1:
        return parts[0]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator=BETWEEN)).to_series()


def refuse_rounded(ids: pl.Series, name: str, where: object) -> None:
    """Refuse ids in scientific notation."""
    if len(rounded := ids.filter(ids.str.contains(SCIENTIFIC))):
        raise InputError(
            f"ids as they were before a spreadsheet rounded them are required in {name!r}",
            found=first_cases(rounded.unique(maintain_order=True)),
            where=where,
            hint="export the table again with this column as text",
        )


def left_out(frame: pl.DataFrame, columns: Columns, source: object) -> pl.Series:
    """Whether ``columns.where`` leaves each row out; messages name the ``source``.

    A row stays if each column named there fits any one of its ``=`` values and no ``!=`` value.
    """
    out = pl.repeat(False, frame.height, eager=True)
    for column, conditions in _conditions(columns, frame.columns, source).items():
        values = _text(frame, column, source).fill_null("")
        kept = [one for one in values.unique() if _is_kept(one, conditions)]
        out |= ~values.is_in(kept)
    return out


def _is_kept(text: str, conditions: Sequence[tuple[str, str]]) -> bool:
    """Whether a text fits one of the ``=`` conditions, if there are any, and no ``!=`` one; only in
    a pattern with ``*`` does case count."""
    fits = set[tuple[str, bool]]()
    for sign, like in conditions:
        wanted = re.escape(like).replace(r"\*", ".*")
        flags = re.DOTALL if "*" in like else re.DOTALL | re.IGNORECASE
        texts = {text, text.removesuffix(".0")}
        fits.add((sign, any(re.fullmatch(wanted, one, flags) for one in texts)))
    return ("!=", True) not in fits and (("=", True) in fits or ("=", False) not in fits)


def _versions(values: pl.Series, counts: pl.Series, name: str, where: object) -> pl.Series:
    """The version that each value names; null where a row has none, or does not count."""
    known = {value: version_of(value) for value in values.unique().drop_nulls()}
    unknown = values.filter(counts & values.is_in([one for one in known if known[one] is None]))
    if len(unknown):
        raise SchemaError(
            f"the column {name!r} must say of each code 9 or 10, as ICD-9-CM",
            found=first_cases(unknown.unique().sort()),
            where=where,
            hint=f"--where '{name}!=VALUE' leaves rows of another code system out",
        )
    return values.replace_strict(known, default=None, return_dtype=pl.String)


def _cells(frame: pl.DataFrame, name: str, named: bool, where: object) -> pl.Series:
    """Cells of labels as tidy text, or lists of it; numbers are class numbers or refused."""
    dtype = frame.schema[name]
    inner = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else dtype
    if inner.is_numeric() and not named:
        raise SchemaError(
            f"the labels in {name!r} must be text: as numbers they have lost leading zeros, so "
            "that 0380 and 380 are the same",
            found=str(dtype),
            where=where,
            hint="class numbers are named by classes, or --classes FILE; else read the file with "
            "this column as text, for example with pl.read_csv(file, infer_schema=False) or "
            "pd.read_csv(file, dtype=str)",
        )
    return tidy(frame.select(name), where, [name]).to_series()


def _flagged(
    about: pl.DataFrame,
    frame: pl.DataFrame,
    columns: Columns,
    classes: ClassNames | None,
    where: object,
) -> pl.DataFrame:
    """A row for each of the columns, or of the places of a list, that hold 1 in a row."""
    first, flags = frame[columns.label[0]], frame.select(columns.label)
    if first.dtype == pl.String and first.str.starts_with("[").any():
        lists = labels_in(first, columns)
        first = lists.set(lists.list.len() == 0, None)
    if first.dtype.is_nested():
        names = [*(classes or {}).values()]
        if len(others := first.list.len().drop_nulls().filter(first.list.len() != len(names))):
            raise SchemaError(
                f"lists of 0 and 1 must be as long as the {len(names):,} classes",
                found=f"lists of {first_cases(others.unique().sort())}",
                where=where,
            )
        flags = frame.select(first.list.get(n).alias(name) for n, name in enumerate(names))
    held = [pl.DataFrame(schema={"row": pl.Int64, "label": pl.String, "which": pl.Int32})]
    for which, values in enumerate(tidy(flags, where).select(pl.all().str.to_lowercase())):
        if len(wrong := values.filter(~values.is_in([*FLAGS]))):
            raise SchemaError(
                f"the column {values.name!r} must hold 0, 1, true, false or nothing",
                found=first_cases(wrong.unique(maintain_order=True)),
                where=where,
                hint="a column that is not a node is named with --id, --group, --split or --strata",
            )
        rows = about["row"].gather(values.is_in(YES).arg_true()).to_frame()
        said = {"label": pl.lit(values.name.strip()), "which": pl.lit(which, pl.Int32)}
        held.append(rows.with_columns(**said))
    found = about.join(pl.concat(held), on="row", how="left", maintain_order="left_right")
    counted = pl.col("label").is_not_null() | pl.col("instance").is_null()
    return found.with_columns(counted=counted)


def _named(labels: pl.Series, classes: ClassNames, where: object) -> pl.Series:
    """Class numbers as names; -1 is no class."""
    numbers = labels.drop_nulls().unique(maintain_order=True)
    by_number = [classes.get(str(n), "") for n in range(1 + max(map(int, classes)))]
    names = named_numbers(numbers.filter(numbers != "-1"), by_number, where)
    return labels.replace_strict({"-1": None, **names}, return_dtype=pl.String)


def _finished(rows: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Rows with their labels' code sets: the columns of `ROWS`, then group, split and strata."""
    table, place, refused = pl.lit(None, pl.String), pl.lit(None, pl.Int64), pl.col("refused")
    if len(columns.label) == 1 and columns.sets:
        table = pl.lit(columns.sets[0], pl.String)
    elif any(columns.sets) and not columns.flags:
        sets = dict(enumerate(columns.sets))
        table = pl.col("which").replace_strict(sets, default=None, return_dtype=pl.String)
    table = pl.coalesce("own", table) if columns.table else table
    if columns.version:
        version, base = pl.col("version"), table.str.strip_suffix("-10")
        own = pl.when(version == "10").then(base + "-10").when(version == "9").then(base)
        table = pl.coalesce(own, version.replace_strict(VERSIONS, default=None), table)
    if columns.position:
        at = pl.col("at").cast(pl.Float64, strict=False)
        place = pl.when(at == at.floor()).then(at)
    elif len(columns.label) > 1 and not columns.flags:
        place = pl.col("which") + 1
    if chosen := [one.removesuffix("*") for one in columns.codes if one.endswith("*")]:
        begins = pl.any_horizontal(pl.col("label").str.starts_with(one) for one in chosen)
        refused = pl.coalesce(refused, pl.when(~begins).then(pl.lit("left_out")))
    found = rows.with_columns(
        table=table, position=place.cast(pl.Int64, strict=False), refused=refused
    )
    rest = [one for one in found.columns if one in ("group", "split") or one.startswith(STRATUM)]
    return found.select(*ROWS, *rest)
