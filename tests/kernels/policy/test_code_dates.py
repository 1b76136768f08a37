"""Code dates: the table of spells, and every way in which it can be broken."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError, InputError, SchemaError
from audit.policy.statements import Spell, as_days, read_code_dates

SPELLS = (
    Spell("038.9", None, date(1999, 9, 30)),
    Spell("038.9", date(2001, 10, 1), None),
    Spell("585", date(1979, 1, 1), date(2005, 9, 30)),
)
TEXT = "Last,code,First,note\n,038.9,2001-10-01,again\n1999-09-30, 038.9 ,,\n\n"


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "dates.csv"
    path.write_text(text)
    return path


def test_spells_are_read_by_name_and_sorted(tmp_path: Path) -> None:
    text = f"{TEXT}2005-09-30 00:00:00,585,1979-01-01,\n"

    assert read_code_dates(table(tmp_path, text)) == SPELLS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("code,first\n585,1979-01-01\n", "a column named 'last' is required"),
        ("code,first,last\n", "at least one code"),
        ("code,first,last\n585,10/01/2005,\n", "'585: 10/01/2005 to (none)'"),
        ("code,first,last\n585,,2005-13-01\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,,2005-02-30\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,20051001,\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,2005-10-01,2005-09-30\n", "must not be before its first"),
        ("code,first,last\n,2005-10-01,\n", "every row must have a code"),
        ("code,first,last\n585,,2005-10-01\n585,2005-10-01,\n", "must not share a day"),
        ("code,first,last\n585,,\n585,,\n", "must not share a day"),
        ("code,first,last\n585,2005-10-01\n", "the 3 fields of the first one"),
    ],
)
def test_a_broken_table_is_one_message_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = table(tmp_path, text)

    with pytest.raises(SchemaError) as caught:
        read_code_dates(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_codes_as_numbers_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": [389.0], "first": [None], "last": [None]})
    frame.write_parquet(tmp_path / "d.parquet")

    with pytest.raises(SchemaError, match="no leading zero is lost"):
        read_code_dates(tmp_path / "d.parquet")


DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))


@given(DAYS, st.sampled_from(["", " 10:20:00", "T10:20", " 10:20:00.000000"]))
def test_a_day_is_read_with_and_without_a_time(day: date, time: str) -> None:
    assert as_days(pl.Series([f"{day.isoformat()}{time}"])).to_list() == [day]


@given(st.text(max_size=12))
def test_a_text_is_a_day_only_where_python_reads_one(text: str) -> None:
    (found,) = as_days(pl.Series([text], dtype=pl.String)).to_list()

    assert found is None or found == date.fromisoformat(text[:10])


near = st.none() | st.dates(date(2000, 1, 1), date(2000, 1, 12))


@given(spells=st.lists(st.tuples(st.sampled_from("ab"), near, near), min_size=1, max_size=5))
def test_a_table_is_read_exactly_when_no_two_spells_share_a_day(
    tmp_path_factory: pytest.TempPathFactory,
    spells: list[tuple[str, date | None, date | None]],
) -> None:
    path = tmp_path_factory.mktemp("dates") / "dates.csv"
    lines = [f"{code},{first or ''},{last or ''}" for code, first, last in spells]
    path.write_text("\n".join(["code,first,last", *lines]) + "\n")
    span = range(date(1999, 12, 31).toordinal(), date(2000, 1, 14).toordinal())
    days = [
        (code, day)
        for code, first, last in spells
        for day in span
        if (first is None or first.toordinal() <= day) and (last is None or day <= last.toordinal())
    ]
    backward = any(first and last and last < first for _, first, last in spells)

    try:
        read = read_code_dates(path)
    except AuditError:
        assert backward or len(days) > len(set(days))
    else:
        assert not backward
        assert len(days) == len(set(days))
        assert sorted(map(str, read)) == sorted(str(Spell(*spell)) for spell in spells)


def test_text_of_parquet_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """Arrow reads such text, and Polars panics as it gives it to Python."""
    path = tmp_path / "dates.parquet"
    days = {"code": ["zebra"], "first": ["2001-10-01"], "last": ["2002-10-01"]}
    pl.DataFrame(days).write_parquet(path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"zebra", b"ze\xb1ra"))

    with pytest.raises(InputError, match="Invalid UTF8"):
        read_code_dates(path)
