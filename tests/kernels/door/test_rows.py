"""Rows of labels: the same whole and in batches of any size, and as plain Python makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, SchemaError
from audit.base.table import table_of
from audit.data.columns import ROW, Columns
from audit.data.rows import ROWS, rows_of

IDS = ("7", "7.0", " 8 ", "", None)
CELLS = ("dog", " cow ", "dog;cow", '["a", "b"]', "[]", "[", "", None)
FRAME = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "one": st.sampled_from(CELLS),
        "two": st.sampled_from(CELLS),
        "kind": st.sampled_from(("DX", "px", "1.0", None)),
        "version": st.sampled_from(("9", "ICD-10-CM", "", None)),
    }
)
COLUMNS = st.builds(
    Columns,
    id=st.sampled_from([("id",), (ROW,), ("id", "kind")]),
    label=st.sampled_from([("one",), ("one", "two")]),
    sets=st.sampled_from([(), ("diagnoses", None)]),
    sep=st.sampled_from(["", ";"]),
    where=st.sampled_from([(), ("kind=D*",), ("KIND!=px", "kind!=1")]),
    version=st.sampled_from(["", "version"]),
    group=st.sampled_from(["", "kind"]),
    codes=st.sampled_from([(), ("d*",)]),
).map(lambda one: replace(one, sets=one.sets[: len(one.label)]))


def made(*given: Any, **named: Any) -> list[pl.DataFrame]:
    """The rows of labels alone."""
    return [rows for rows, _ in rows_of(*given, **named)]


def read(rows: Sequence[Any], columns: Columns, at_once: int = 100, **given: Any) -> pl.DataFrame:
    """The rows of labels of a table of text."""
    schema = dict.fromkeys(("id", "one", "two", "kind", "version"), pl.String)
    table = table_of(pl.DataFrame(rows, schema, orient="row"), "t")
    empty = pl.DataFrame(schema=ROWS)
    return pl.concat([empty, *made(table, columns, at_once=at_once, **given)], how="diagonal")


@given(st.lists(FRAME, max_size=8), COLUMNS, st.integers(1, 5))
def test_batches_of_any_size_give_the_rows_of_the_whole(
    rows: list[dict[str, str | None]], columns: Columns, at_once: int
) -> None:
    assert read(rows, columns, at_once).equals(read(rows, columns))


def tidy(text: str | None) -> str | None:
    return (text or "").strip() or None


def labels_of(cell: str | None, columns: Columns) -> list[str | None]:
    text = tidy(cell)
    single = len(columns.label) == 1 and not columns.sep
    if text is None:
        return [None] if single else []
    if text in ('["a", "b"]', "[]"):
        return ["a", "b"] if len(text) > 2 else []
    return [tidy(part) for part in text.split(";")] if columns.sep else [text]


@given(st.lists(FRAME, max_size=6), COLUMNS)
def test_rows_are_those_of_plain_python(
    rows: list[dict[str, str | None]], columns: Columns
) -> None:
    expected = []
    for number, row in enumerate(rows):
        parts = [(tidy(row[name]) or "").removesuffix(".0") for name in columns.id if name != ROW]
        instance = "|".join(parts) if all(parts) else None
        instance = str(number) if columns.id == (ROW,) else instance
        out = {
            (): False,
            ("kind=D*",): row["kind"] != "DX",
            ("KIND!=px", "kind!=1"): row["kind"] in ("px", "1.0"),
        }[columns.where]
        version = {"9": "9", "ICD-10-CM": "10"}.get(row["version"] or "")
        reason = "bad_row" if instance is None else "left_out" if out else None
        lost = "bad_row" if columns.version and version is None else None
        labels = [
            (label, place)
            for place, name in enumerate(columns.label)
            for label in labels_of(row[name], columns)
        ]
        for label, place in labels or [(None, None)]:
            of = None if place is None else [*columns.sets, None, None][place]
            if columns.version and version:
                said = {"9": of or "icd-9", "10": f"{of}-10" if of else "icd-10"}[version]
            chosen = not columns.codes or label is None or label.startswith("d")
            expected.append(
                (
                    bool(labels),
                    {
                        "instance": instance,
                        "label": label,
                        "position": place + 1
                        if place is not None and len(columns.label) > 1
                        else None,
                        "table": said if columns.version and version and place is not None else of,
                        "refused": reason or lost or (None if chosen else "left_out"),
                        "counted": bool(labels) or instance is None,
                        "row": number,
                    },
                )
            )
    found = read(rows, columns)
    for got, (labelled, wanted) in zip(found.select(*ROWS).to_dicts(), expected, strict=True):
        assert got == (wanted if labelled else wanted | {"table": got["table"]})
    if columns.group and rows:
        group = [(tidy(row["kind"]) or "").removesuffix(".0") or None for row in rows]
        assert [group[n] for n in found["row"]] == found["group"].to_list()


@pytest.mark.parametrize("ids", [["1.00E+05", "2"], ["9E+10", "9E+10"]])
def test_ids_that_a_spreadsheet_rounded_are_refused(ids: list[str]) -> None:
    rows = [{"id": one, "one": "dog"} for one in ids]
    with pytest.raises(InputError, match="before a spreadsheet rounded them"):
        read(rows, Columns(id=("id",), label=("one",)))


def test_the_sign_between_several_columns_stands_in_none() -> None:
    columns = Columns(id=("id", "kind"), label=("one",))
    with pytest.raises(InputError, match="joined by"):
        read([{"id": "a|b", "kind": "c", "one": "dog"}], columns)


def test_conditions_on_rows() -> None:
    for where, kept in [
        (["kind=A"], "ab"),
        (["kind=a", "kind=B"], "abc"),
        (["kind!=a*"], "acd"),
        (["kind=*"], "abcd"),
        (["kind="], "d"),
        (["two=1"], "bc"),
        (["kind=A", "two!=1"], "a"),
    ]:
        rows = [
            ("a", "x", "0", "A", None),
            ("b", "x", "1", "a ", None),
            ("c", "x", "1.0", "B", None),
        ]
        found = read([*rows, ("d", "x", None, None, None)], Columns(
            id=("id",), label=("one",), where=tuple(where)
        ))  # fmt: skip
        assert "".join(found.filter(pl.col("refused").is_null())["instance"]) == kept


def test_what_is_no_condition_is_refused() -> None:
    for stated in ["kind", "=x", "other=x"]:
        with pytest.raises(InputError):
            read(
                [("a", "x", None, None, None)], Columns(id=("id",), label=("one",), where=(stated,))
            )


def test_a_version_that_is_none_is_told_with_its_column_unless_its_row_is_left_out() -> None:
    rows = [("a", "x", None, "DX", "9"), ("b", "x", None, "drug", "NDC")]
    columns = Columns(id=("id",), label=("one",), version="version")
    with pytest.raises(SchemaError, match=r"'version' must say(.|\n)*Found: 'NDC'"):
        read(rows, columns)
    found = read(rows, Columns(**vars(columns) | {"where": ("kind=DX",)}))
    assert found["refused"].to_list() == [None, "left_out"]


FLAGS = st.lists(st.sampled_from([0, 1]), min_size=3, max_size=3)


@given(st.lists(FLAGS, min_size=1, max_size=5), st.sampled_from([str, float, bool, str]))
def test_columns_and_lists_of_0_and_1_are_the_same_labels(rows: list[list[int]], kind: Any) -> None:
    names = ["dog", "cow", "elf"]
    values = [[kind(one) for one in row] for row in rows]
    wide = table_of(pl.DataFrame(values, names, orient="row"), "wide")
    listed = table_of(pl.DataFrame({"bits": values}), "lists")
    flags = Columns(id=(ROW,), label=tuple(names), flags=True)
    of_lists = Columns(id=(ROW,), label=("bits",), flags=True)
    classes = {str(n): name for n, name in enumerate(names)}
    found = pl.concat(made(wide, flags))
    assert found.equals(pl.concat(made(listed, of_lists, classes)))
    expected = [
        (str(n), name) for n, row in enumerate(rows) for name, one in zip(names, row, strict=True)
        if one
    ]  # fmt: skip
    assert found.filter("counted").select("instance", "label").rows() == expected
    assert found["instance"].unique().len() == len(rows)


def test_flags_are_no_other_numbers_and_lists_are_as_long_as_the_classes() -> None:
    wide = table_of(pl.DataFrame({"dog": ["1", "2"]}), "wide")
    with pytest.raises(SchemaError, match="'dog' must hold 0, 1"):
        list(made(wide, Columns(id=(ROW,), label=("dog",), flags=True)))
    listed = table_of(pl.DataFrame({"bits": [[1, 0, 1]]}), "lists")
    with pytest.raises(SchemaError, match="as long as the 2 classes"):
        list(
            made(listed, Columns(id=(ROW,), label=("bits",), flags=True), {"0": "dog", "1": "cow"})
        )


def test_numbers_of_classes_have_names_and_minus_one_is_none() -> None:
    table = table_of(pl.DataFrame({"n": [1, 0, -1]}), "t")
    columns = Columns(id=(ROW,), label=("n",))
    found = pl.concat(made(table, columns, {"0": "dog", "1": "cow"}))
    assert found["label"].to_list() == ["cow", "dog", None]
    with pytest.raises(InputError, match="numbers of classes must be"):
        list(made(table, columns, {"0": "dog"}))
    with pytest.raises(SchemaError, match="as numbers they have lost leading zeros"):
        list(made(table, columns))
