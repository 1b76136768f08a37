"""One reading of a column of codes, for each code set in each way of writing."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.icd.built_in import SAID
from audit.hierarchies.icd.column_readings import ColumnReading, column_readings
from audit.hierarchies.icd.writers import WRITERS
from fixtures.code_columns import code_columns
from fixtures.examples import examples


def readings(*labels: str, rows: int = 20) -> list[ColumnReading]:
    """How labels are read, each of them on some rows."""
    return column_readings(pl.DataFrame({"label": labels, "rows": rows}), list(SAID))


def read(*labels: str) -> tuple[str, dict[str, str]]:
    """The only reading of labels, and the code that each surely is."""
    (one,) = readings(*labels)
    return one.said, dict(one.codes.filter("sure").select("label", "code").iter_rows())


@pytest.mark.parametrize(
    ("seed", "size"),
    [(1, 30), *(pytest.param(*n, marks=pytest.mark.slow) for n in ((2, 100), (3, 300)))],
)
def test_no_row_is_read_as_a_wrong_code_in_silence(seed: int, size: int) -> None:
    """Of each code set, in each way of writing: read right, asked about, or undecided."""
    for column in code_columns((size,), seed):
        found = column_readings(column.labels, list(SAID))
        assert column.misread(found) <= 0.01, (column.table, WRITERS[column.writer].said)


@pytest.mark.parametrize(
    ("labels", "said", "code"),
    [
        ("3961 3722 8052 9671 0066 8856", "procedures of ICD-9-CM without dots", "00.66"),
        ("4019 25000 4280 0389 42731 5849", "diagnoses of ICD-9-CM without dots", "038.9"),
        ("E11,9 I10 N17,9 J18,9", "diagnoses of ICD-10-CM with a decimal comma", "E11.9"),
        ("486. 042. 311. 401.9 428.0", "diagnoses of ICD-9-CM with a dot after every", "486"),
        ("I10X E119 J189 N179 R05X", "diagnoses of ICD-10-CM with X for no fourth", "I10"),
        (
            "ICD9CM:401.9 ICD9CM:486 ICD9CM:428.0",
            "with dots, behind a prefix ('ICD9CM:…')",
            "401.9",
        ),
        ("23.9 37.22 66.0 39.61 88.56 45.13 37.2", "as whole numbers, dotted after,", "37.22"),
        (
            "4019 25000 7054 5849 42731 42 5859 99592 2724",
            "diagnoses of ICD-9-CM as whole",
            "070.54",
        ),
        ("401.9! 250.00! 428.0! 427.31", "with dots, with a sign behind", "250.00"),
        ("'401.9' '250.00' '428.0'", "with dots, in quotes", "250.00"),
        ("401 428 250 780 786 038 427", "diagnoses of ICD-9-CM as categories or codes", "250"),
        ("8 38 428 250.13 V57 70 786 410 42", "codes without the zeros in front", "008"),
        ("X401.9 X486 X038.9 V45.81 E878.8", "with dots, behind the X of names", "038.9"),
    ],
)
def test_a_column_is_read_as_it_is_written(labels: str, said: str, code: str) -> None:
    told, codes = read(*labels.split())

    assert said in told
    assert code in codes.values()


def test_two_versions_in_one_column_are_told_apart_by_the_other_labels() -> None:
    said, codes = read("4019", "25000", "42731", "I10", "E119", "J189", "E875", "N179")

    assert said.count("of ICD-") == 2
    assert (codes["E875"], codes["4019"]) == ("E87.5", "401.9")


def test_numbers_of_rows_are_no_codes() -> None:
    assert readings(*map(str, range(1, 60)))[0].sets == ()


def test_what_is_no_code_is_not_read() -> None:
    assert readings("cow", "dog", "unknown", "-", "0") == []
    assert readings("cow1", "dog2", "zebra3") == []


def test_one_label_of_two_sets_has_two_readings() -> None:
    assert {one.sets for one in readings("4019")} == {("diagnoses",), ("procedures",)}


_LETTERED = st.from_regex(r"(V[0-9]{2}|E[0-9]{3})(\.?[0-9]{1,2})?", fullmatch=True)


@given(
    st.lists(_LETTERED, min_size=1, max_size=8, unique=True),
    st.lists(st.sampled_from(["401.9", "250.00", "428.0", "4019", "36.15"]), unique=True),
    st.sampled_from(["", "X", "D", "V", "#"]),
)
@examples(50)
def test_no_letter_of_a_code_is_taken_for_a_mark(
    lettered: list[str], others: list[str], before: str
) -> None:
    """Whether or not any edition has the code, and whatever stands before the others."""
    labels = pl.DataFrame({"label": [*lettered, *(before + code for code in others)], "rows": 9})
    for one in column_readings(labels, list(SAID)):
        read = one.codes.filter(pl.col("label").is_in(lettered))
        assert (read["label"].str.head(1) == read["code"].str.head(1)).all()


def test_a_label_is_not_sure_that_another_reading_of_its_set_takes_for_another_code() -> None:
    """48.1 is a code, and what 04.81 becomes; no other label shows which."""
    (one,) = readings("48.1", "93.5", "45.13")

    assert one.codes.filter(~pl.col("sure"))["label"].to_list() == ["48.1"]


def test_a_label_that_would_be_another_code_is_not_sure_where_zeros_were_lost() -> None:
    _, codes = read("4019", "25000", "7054", "5849", "42731", "42", "5859", "99592", "4111", "389")

    assert codes["7054"] == "070.54"
    assert not {"389", "42"} & codes.keys()
