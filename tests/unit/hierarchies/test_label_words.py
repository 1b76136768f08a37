"""Words for no code, and what stands around codes."""

from __future__ import annotations

import shlex

import polars as pl
import pytest

from audit.base.errors import InputError
from audit.data.dataset import LabelDataset, load_labels
from audit.data.mapping import label_counts, label_nodes, summed_counts
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

CODES = ("401.9", "428.0", "250.00", "V58.67", "486")
EDGES = pl.DataFrame(
    {"child": ["dog", "cat", "C", "none"], "parent": ["pet", "pet", "tongue", "any"]}
)
FLAT = Hierarchy.build(EDGES, name="flat")


@pytest.fixture(scope="module")
def icd9cm() -> Hierarchy:
    return load_hierarchy("icd9cm")


def read(labels: list[str], hierarchy: Hierarchy, **options: list[str]) -> LabelDataset:
    """The labels in memory one by one, which are read alike where they are only counted."""
    rows = pl.DataFrame({"instance": list(map(str, range(len(labels)))), "label": labels})
    codes = "as-written" if hierarchy.coding else ()
    found = load_labels(rows, hierarchy, format="long", codes=codes, **options)  # type: ignore[arg-type]
    counts = summed_counts([label_counts(rows.with_columns(counted=True))])
    counted = label_nodes(counts, found.hierarchy)
    assert counted.readings == found.readings
    assert counted.ledger(len(labels), found.ledger.instances_without_labels) == found.ledger
    return found


WRAPPINGS = {
    "quotes": "'{}'", "list": "['{}']", "prefix": "ICD9CM:{}", "url": "http://x/icd-9|{}",
    "certainty": "{} ?", "dot": "{}.", "filler": "{}X", "title": "{} - Pain", "last": "Pain ({})",
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPINGS)
def test_what_stands_around_all_codes_is_taken_off_and_told(name: str, icd9cm: Hierarchy) -> None:
    wrapped = [WRAPPINGS[name].format(code) for code in CODES]
    found = read(wrapped, icd9cm)
    assert sorted(found.mappings["node"]) == sorted(CODES)
    (reading,) = found.readings
    assert (reading.rows, reading.option) == (len(CODES), "--strip PATTERN")
    assert not read(wrapped, icd9cm, strip=["#"]).ledger.rows_mapped


@pytest.mark.parametrize(
    ("wrapped", "option"),
    [("DX:{}", "DX:"), ("{} V", " V"), ("{} - Pain: 2 {}", "/ - .*/"), ("Pain ({})", "Pain (")],
)
def test_what_stands_around_some_codes_is_told_with_what_takes_it_off(
    wrapped: str, option: str, icd9cm: Hierarchy
) -> None:
    labels = [*(wrapped.format(code, code) for code in CODES[:2]), *CODES]
    found = read(labels, icd9cm)
    assert found.ledger.refused == {"malformed_code": 2}
    (reading,) = found.readings
    assert (reading.rows, option in reading.option) == (2, True)
    again = read(labels, icd9cm, strip=[option, ")"])
    assert again.ledger.rows_mapped == len(labels)
    assert not again.readings


def test_signs_and_what_stands_behind_some_are_taken_off_by_one_option() -> None:
    labels = ["*dog", "cat/*drug use", "C/*diet/age", "*C/*age", "dog/growth", "dog", "cat", "C"]
    found = read(labels, FLAT)
    assert found.ledger.rows_mapped == 3
    (reading,) = found.readings
    again = read(labels, FLAT, strip=shlex.split(reading.option)[1::2])
    assert (again.ledger.rows_mapped, reading.rows) == (len(labels), 5)


@pytest.mark.parametrize(("letters", "refused"), [("AD", 2), ("A", 1), ("a", 0), ("B", 0)])
def test_letters_behind_codes_are_told_unless_others_end_so(letters: str, refused: int) -> None:
    nodes = pl.DataFrame({"child": ["N08.3", "E11.2", "E11.3B"], "parent": ["N08", "E11", "E11"]})
    codes = Hierarchy.build(nodes, name="codes")
    labels = ["N083", "E112", "E113B", *(f"{one}{two}" for one, two in zip(["N083", "E112"],
              letters, strict=False))]  # fmt: skip
    found = read(labels, codes)
    told = [one for one in found.readings if "letter" in one.decision]
    assert sum(one.rows for one in told) == refused
    if told:
        again = read(labels, codes, strip=shlex.split(told[0].option)[1:])
        assert again.ledger.rows_mapped == len(labels)


def test_marks_of_names_are_taken_off_but_no_sign_that_means_something() -> None:
    assert read(["dog", "'dog'", "C++", "cats"], FLAT).ledger.refused == {"unknown_code": 2}
    assert read(["class:dog", "class:cat"], FLAT).ledger.rows_mapped == 2


def test_the_x_of_names_that_r_made_is_no_part_of_ids() -> None:
    counties = Hierarchy.build(
        pl.DataFrame({"child": ["01001", "X2", "a1"], "parent": ["01", "01", "01"]}),
        name="counties",
    )
    found = read(["X01001", "X2", "a1", "X01002"], counties)
    assert sorted(found.mappings["node"]) == ["01001", "X2", "a1"]
    assert found.readings[0].rows == 1
    assert read(["X01001", "01"], counties).ledger.refused == {"unknown_code": 1}


@pytest.mark.parametrize("label", ["V99.99?", "E999.9 A", "(I10.5)", "1401.9?"])
def test_no_code_is_found_in_the_middle_of_another(label: str, icd9cm: Hierarchy) -> None:
    found = read([label, label.replace("9", "8"), *CODES], icd9cm)
    assert not any("--strip" in one.option for one in found.readings)


NOTHING = ["NA", "n/a", "No Dx", "UNK", "0000000", ".", "--", "-9", "NULL", r"\N"]


@pytest.mark.parametrize("word", NOTHING)
def test_words_for_no_code_are_missing_and_told(word: str, icd9cm: Hierarchy) -> None:
    found = read([*CODES, word], icd9cm)
    assert found.ledger.refused == {"missing_code": 1}
    (reading,) = found.readings
    assert (reading.rows, reading.option) == (1, "--missing WORD")
    assert repr(word) in reading.decision
    assert read([*CODES, word], icd9cm, missing=["zzz"]).ledger.refused == {"malformed_code": 1}


def test_words_that_are_named_and_nodes_that_are_words(icd9cm: Hierarchy) -> None:
    found = read([*CODES, "Zzz", "99999999"], icd9cm, missing=["zzz", "99999999"])
    assert (found.ledger.refused, found.readings) == ({"missing_code": 2}, ())
    assert read(["none", "dog", "nan"], FLAT).ledger.refused == {"missing_code": 1}


def test_a_broken_expression_is_refused(icd9cm: Hierarchy) -> None:
    with pytest.raises(InputError, match=r"regular expression.*\nFound: /\(/"):
        read([*CODES], icd9cm, strip=["/(/"])
