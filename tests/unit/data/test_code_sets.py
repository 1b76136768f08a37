"""Of which code set the labels of a column are: decided once, told, asked, or stated."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.base.errors import InputError, SchemaError
from audit.counting.file import count_pairs
from audit.data.code_sets import with_codes
from audit.data.dataset import LabelDataset
from audit.data.mapping import label_counts, label_nodes, summed_counts
from fixtures.coded import icd9cm, icd10cm

PROCEDURES = ["3961", "3722", "8052", "9671", "0066", "8856"]
CATEGORIES = ("8", "38", "428", "250.13", "786", "V57", "410", "70", "250.02", "E888", "414", "V45")
DIAGNOSES = ["4019", "25000", "4280", "42731", "5849", "0389"]


def read(labels: list[str], *codes: str, hierarchy: str = "icd9cm") -> LabelDataset:
    """The labels in memory, which are read alike where they are only counted."""
    known = with_codes(icd10cm() if hierarchy == "icd10cm" else icd9cm(), codes)
    rows = pl.DataFrame({"instance": list(map(str, range(len(labels)))), "label": labels})
    found = audit.load_labels(rows, known, format="long")
    counts = summed_counts([label_counts(rows.with_columns(counted=True))])
    counted = label_nodes(counts, known)
    assert counted.readings == found.readings
    assert counted.ledger(len(labels), found.ledger.instances_without_labels) == found.ledger
    return found


def nodes(found: LabelDataset) -> dict[str, str]:
    return dict(found.mappings.select("label", "node").iter_rows())


def test_undotted_procedures_are_no_diagnoses_and_the_option_decides_otherwise() -> None:
    found = read(PROCEDURES)
    (reading,) = found.readings
    assert nodes(found)["0066"] == "00.66"
    assert "procedures of ICD-9-CM without dots" in reading.decision
    _, word = shlex.split(reading.option)
    assert nodes(read(PROCEDURES, word))["0066"] == "006.6"
    assert nodes(read(PROCEDURES, "as-written"))["3961"] == "396.1"


def test_a_tie_is_asked_and_each_option_gives_its_reading() -> None:
    with pytest.raises(
        InputError, match=r"diagnoses .*\(1 row\); or .*procedures .*\(1 row\)"
    ) as e:
        read(["4019"])
    words = [part.split()[1] for part in e.value.hint.split("; ")]
    assert [nodes(read(["4019"], word))["4019"] for word in words] == ["401.9", "40.19"]


def test_numbers_of_rows_are_asked_about() -> None:
    with pytest.raises(InputError, match="numbers that are no codes") as e:
        read(list(map(str, range(1, 60))))
    assert "--label" in e.value.hint


@pytest.mark.parametrize(
    ("labels", "hierarchy", "label", "node"),
    [
        (["E11,9", "I10", "N17,9", "J18,9"], "icd10cm", "E11,9", "E11.9"),
        (["I10X", "E119", "J189", "R05X", "N179"], "icd10cm", "I10X", "I10"),
        (["428.0", "311.", "486.", "042."], "icd9cm", "042.", "042"),
        (["401,9", "250,00", "428,0", "486"], "icd9cm", "250,00", "250.00"),
        ([*CATEGORIES], "icd9cm", "8", "008"),
        ([*DIAGNOSES[:5], "7054", "42", "99592", "5859"], "icd9cm", "7054", "070.54"),
    ],
)
def test_how_codes_are_written_is_decided_and_told(
    labels: list[str], hierarchy: str, label: str, node: str
) -> None:
    found = read(labels, hierarchy=hierarchy)
    assert nodes(found)[label] == node
    assert any(one.option == "--codes as-written" for one in found.readings)
    alone = read(labels, "as-written", hierarchy=hierarchy)
    assert nodes(alone).get(label) != node or alone.readings[0].option == "--strip PATTERN"


def test_names_that_r_made_are_of_the_version_that_they_are_without_their_x() -> None:
    """X486 has the shape of a code of ICD-10."""
    rows = {"id": ["a", "a", "b", "c"], "label": ["X486", "V45.81", "X401.9", "X250.00"]}
    assert audit.load_labels(rows, icd9cm()).ledger.refused == {}


def test_codes_with_their_dots_are_not_told() -> None:
    assert read(["401.9", "36.15", "486", "V58.67", "038.9"]).readings == ()


def test_codes_of_the_other_version_are_refused_as_such() -> None:
    found = read([*DIAGNOSES, "I10", "E119", "J189", "E875"])
    assert found.ledger.refused == {"other_version": 4}


def test_labels_that_may_be_two_codes_stay_and_are_counted() -> None:
    found = read([*DIAGNOSES, *PROCEDURES, "9904", "9604", "45", "V5867"])
    unsure = [one for one in found.readings if "may be two codes" in one.decision]
    assert [one.rows > 0 for one in unsure] == [True]


def test_code_sets_are_stated_for_some_columns(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": range(6), "DX1": DIAGNOSES, "PR1": PROCEDURES})
    table.write_csv(tmp_path / "rows.csv")
    both = ["DX*=diagnoses", "PR*=procedures"]
    found = audit.load_labels(tmp_path / "rows.csv", icd9cm(), label="DX1,PR1", codes=both)
    assert (nodes(found)["0066"], nodes(found)["0389"]) == ("00.66", "038.9")
    assert not found.readings
    with pytest.raises(SchemaError, match=r"fit 'QQ\*'"):
        audit.load_labels(tmp_path / "rows.csv", icd9cm(), label="DX1,PR1", codes="QQ*=diagnoses")


@pytest.mark.parametrize("name", ["ICD9_PRCDR_CD_1", "PR1", "PROC1", "opertn1", "Procedure 1"])
def test_columns_that_are_named_as_procedures_hold_procedures(name: str, tmp_path: Path) -> None:
    columns = {"id": range(4), "DX1": DIAGNOSES[:4], name: ["4019", "9671", "0066", ""]}
    pl.DataFrame(columns).write_csv(tmp_path / "rows.csv")
    for label in (name, f"DX1,{name}"):
        found = audit.load_labels(tmp_path / "rows.csv", icd9cm(), id="id", label=label)
        assert (nodes(found)["9671"], nodes(found)["0066"]) == ("96.71", "00.66")
        assert any("procedures" in one.decision for one in found.readings)
        with pytest.raises(InputError, match=f"--codes '{name}=procedures'"):
            count_pairs(tmp_path / "rows.csv", icd9cm(), instance="id", label=label)


def test_a_column_of_diagnoses_is_one_whatever_its_name_says(tmp_path: Path) -> None:
    codes = ["V4581", "E8120", "25000", "42731", "V700", "4019"]
    pl.DataFrame({"id": range(6), "PR1": codes}).write_csv(tmp_path / "rows.csv")
    found = audit.load_labels(tmp_path / "rows.csv", icd9cm(), id="id", label="PR1")
    assert nodes(found)["25000"] == "250.00"


NUMBERED = {
    "counties": ["01001", "01003", "02013", "36061", "48201"],
    "goods of 2, 4 and 6 digits": ["010121", "0102", "090111", "100190", "1006", "870322"],
    "undotted diagnoses": ["0389", "07070", "4019", "25000", "V4581", "0088", "E8120", "486"],
}


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("shape", ["{}", "{}.0"])
def test_zeros_that_numbers_lost_in_front_are_put_back(name: str, shape: str) -> None:
    nodes = NUMBERED[name]
    shorter = {one.lstrip("0"): one for one in nodes}
    labels = [shape.format(one) if one.isdecimal() else one for one in shorter]
    rows = {"id": list(map(str, range(len(labels)))), "label": labels}
    tree = dict.fromkeys(nodes, "top")
    found = audit.load_labels(rows, tree)
    assert list(nodes_of(found, labels)) == nodes
    assert [one.option for one in found.readings] == ["--codes as-written"]
    known = with_codes(audit.load_hierarchy(tree), "as-written")
    assert audit.load_labels(rows, known).ledger.rows_mapped < len(nodes)


def nodes_of(found: LabelDataset, labels: list[str]) -> list[str | None]:
    return [nodes(found).get(label) for label in labels]


def test_a_number_that_may_be_two_nodes_is_one_only_where_the_other_has_nodes_below() -> None:
    """7070 has 70701 below it as a number; 311 and 0311 have none; 389 shows the lost zeros."""
    tree = dict.fromkeys(["07070", "7070", "70701", "311", "0311", "0389"], "top")
    rows = {"id": list("abc"), "label": ["7070", "311", "389"]}
    assert nodes_of(audit.load_labels(rows, tree), rows["label"]) == ["07070", "311", "0389"]
    alone = audit.load_labels({"id": list("ab"), "label": ["7070", "311"]}, tree)
    assert nodes_of(alone, ["7070", "311"]) == ["7070", "311"]
    assert not alone.readings


def test_numbers_of_which_some_begin_with_0_lost_none() -> None:
    tree = dict.fromkeys(["0389", "0311", "4019"], "top")
    found = audit.load_labels({"id": list("ab"), "label": ["0389", "311"]}, tree)
    assert found.ledger.refused == {"unknown_code": 1}
    other = audit.load_labels({"id": list("abc"), "label": ["389", "77", "78"]}, tree)
    assert other.ledger.refused == {"unknown_code": 3}
    assert [one.option for one in other.readings] == ["--codes with-zeros"]
    whole = audit.load_labels({"id": list("abc"), "label": ["389", "7777", "7878"]}, tree)
    assert whole.mappings["node"].drop_nulls().to_list() == ["0389"]
    longer = ["389", "66666", "77777", "4019"]
    some = audit.load_labels({"id": list("abcd"), "label": longer}, tree)
    assert nodes_of(some, longer) == ["0389", None, None, "4019"]


def test_what_is_no_code_set_is_refused() -> None:
    with pytest.raises(InputError, match="'surgeries'"):
        read(DIAGNOSES, "surgeries")
    with pytest.raises(InputError, match="it has none"):
        audit.load_labels({"id": ["a"], "label": ["x"]}, {"x": "y"}, codes="diagnoses")


@pytest.mark.parametrize("written", ["{}A", "{} A", "{} {}", "{}{}"])
@pytest.mark.parametrize("some", [False, True])
def test_letters_that_say_how_sure_a_code_is_are_not_taken_off(written: str, some: bool) -> None:
    codes = ["I10", "E11.9", "J18.9", "N17.9", "K21.9", "E78.5", "F32.9", "M54.5"] * 2
    marked = [written.format(code, "AGVZ"[i % 4]) for i, code in enumerate(codes)]
    marked = [codes[i] if some and i % 2 else one for i, one in enumerate(marked)]
    hierarchy = icd10cm()
    found = audit.load_labels([[one] for one in marked], hierarchy)
    assert found.ledger.rows_mapped == len(codes) // 2 * some
    stripped = audit.load_labels([[one] for one in marked], hierarchy, strip=[r"/ ?[AGVZ]$/"])
    assert stripped.ledger.rows_mapped == len(codes)
