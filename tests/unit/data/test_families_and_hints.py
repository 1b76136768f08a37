"""Which columns hold labels and ids: families, guards and hints, by the nodes of a hierarchy."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.base.errors import InputError
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset

CODES = ["4280", "41401", "V5867", "4019", "25000", "5849", "486"]
ROWS = 60


def codes(shift: int) -> list[str]:
    return [CODES[(row * 3 + shift) % len(CODES)] for row in range(ROWS)]


def of(*values: str) -> list[str]:
    return [values[row % len(values)] for row in range(ROWS)]


IDS = {"id": [f"s{row}" for row in range(ROWS)]}
DX = {f"DX{number}": codes(number) for number in (1, 2, 3)}
BESIDE = {
    "groups of another classification": {f"DXCCS{n}": of("98", "49", "108", "259") for n in (1, 2)},
    "flags of the same number": {f"DX{n}_POA": of("Y", "N", "U", "1") for n in (1, 2, 3)},
    "flags behind the family's name": {f"DXPOA{n}": of("Y", "N", "W") for n in (1, 2, 3)},
    "a version": {"DXVER": of("V09")},
    "numbers of other things": {"DXN1": of("3", "17"), "DXN2": of("4", "12")},
}


def written(columns: dict[str, list[str]], folder: Path) -> Path:
    pl.DataFrame(columns).write_csv(folder / "a.csv")
    return folder / "a.csv"


def followed(error: InputError, path: Path) -> LabelDataset:
    """The dataset as the hint of an error reads it."""
    command = re.search(r"(--id .*?); audit list", error.hint)
    words = shlex.split(command[1]) if command else []
    named = {word[2:]: value for word, value in zip(words[::2], words[1::2], strict=True)}
    return audit.load_labels(path, "icd9cm", **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_family_is_read_without_what_stands_beside_it(
    beside: dict[str, list[str]], tmp_path: Path
) -> None:
    path = written({**IDS, **DX, **beside}, tmp_path)
    loaded = (audit.load_labels(path, "icd9cm"), audit.load_labels(path, "icd9cm", label="DX#"))
    counted = (count_pairs(path, "icd9cm"), count_pairs(path, "icd9cm", label="DX#"))
    assert {one.ledger.rows_mapped for one in (*loaded, *counted)} == {3 * ROWS}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_hint_names_the_family_alone(beside: dict[str, list[str]], tmp_path: Path) -> None:
    key = {"KEY_NIS": IDS["id"], "AGE": of("50", "61"), "NDX": of("3")}
    path = written({**key, **DX, **beside}, tmp_path)
    with pytest.raises(InputError, match="--id KEY_NIS --label 'DX#'") as caught:
        audit.load_labels(path, "icd9cm")
    assert followed(caught.value, path).ledger.rows_mapped == 3 * ROWS


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (("DX1", "DX3", "DX4"), "DX#"),
        (("dx1_code", "dx2_code", "dx10_code"), "dx#_code"),
        (("I10_DX1", "I10_DX2", "I10_DX12"), "I10_DX#"),
        (("code7", "code8", "code9"), "code#"),
    ],
)
def test_numbers_run_wherever_they_stand(
    names: tuple[str, ...], pattern: str, tmp_path: Path
) -> None:
    path = written({**IDS, **dict(zip(names, DX.values(), strict=True))}, tmp_path)
    for name in names:
        with pytest.raises(InputError, match=f"--label '{pattern}' names them all"):
            audit.load_labels(path, "icd9cm", label=name)
    assert audit.load_labels(path, "icd9cm", label=pattern).ledger.rows_mapped == 3 * ROWS


@pytest.mark.parametrize("names", [("icd9", "icd10"), ("I9", "I10"), ("icd_9_code", "icd_10_code")])
def test_versions_are_no_running_numbers(names: tuple[str, str], tmp_path: Path) -> None:
    path = written({**IDS, **dict(zip(names, DX.values(), strict=False))}, tmp_path)
    assert audit.load_labels(path, "icd9cm", label=names[0]).ledger.rows_mapped == ROWS


def test_a_column_of_other_cells_within_the_numbers_is_left_out(tmp_path: Path) -> None:
    path = written({**IDS, **DX, "DX9": of("Y", "N")}, tmp_path)
    with pytest.raises(InputError, match="--label 'DX1,DX2,DX3' names them all"):
        audit.load_labels(path, "icd9cm", label="DX1")
    assert audit.load_labels(path, "icd9cm", label="DX1,DX2,DX3").ledger.rows_mapped == 3 * ROWS


STAYS = [str(140000 + row // 3) for row in range(ROWS)]
PERSONS = [str(1000 + row // 6) for row in range(ROWS)]
NUMBERS = [str(5001 + row) for row in range(ROWS)]
LAYOUTS: dict[str, tuple[dict[str, list[str]], str]] = {
    "eICU": (
        {
            "diagnosisid": NUMBERS,
            "patientunitstayid": STAYS,
            "diagnosisoffset": [str(100 + row * 7) for row in range(ROWS)],
            "icd9code": [f"{code}, N17.9" for code in codes(0)],
        },
        "--id patientunitstayid --label icd9code",
    ),
    "OMOP": (
        {
            "condition_occurrence_id": NUMBERS,
            "person_id": PERSONS,
            "condition_concept_id": of("0", "320128", "201826"),
            "visit_occurrence_id": STAYS,
            "condition_source_value": codes(0),
        },
        "--id visit_occurrence_id --group person_id --label condition_source_value",
    ),
    "claims": (
        {"member": PERSONS, "claim": STAYS, "amount": of("12.5", "7"), "dx": codes(0)},
        "--id claim --group member --label dx",
    ),
}


@pytest.mark.parametrize(("columns", "hint"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_hint_names_columns_that_read(
    columns: dict[str, list[str]], hint: str, tmp_path: Path
) -> None:
    path = written(columns, tmp_path)
    with pytest.raises(InputError, match=hint) as caught:
        audit.load_labels(path, "icd9cm")
    dataset = followed(caught.value, path)
    assert (len(dataset), dataset.ledger.rows_mapped) == (ROWS // 3, ROWS)
    with pytest.raises(InputError, match=re.sub(r" --group \w+", "", hint)):
        count_pairs(path, "icd9cm")


def test_where_no_column_holds_nodes_the_hint_says_so(tmp_path: Path) -> None:
    path = written({"stay": STAYS, "colour": of("red", "blue"), "size": of("a", "b")}, tmp_path)
    with pytest.raises(InputError, match=r"no columns that were tried hold .* of this hierarchy"):
        audit.load_labels(path, "icd9cm")


def test_a_hint_names_no_column_that_says_whether_a_label_is_carried(tmp_path: Path) -> None:
    images = [f"image{row // 3}" for row in range(ROWS)]
    columns = {"ImageID": images, "Label": codes(1), "Confidence": of("1", "1", "0", "1")}
    with pytest.raises(InputError) as caught:
        audit.load_labels(written(columns, tmp_path), "icd9cm")
    assert "--id Confidence" not in caught.value.hint


PR = {f"PR{number}": of("3961", "8856", "3893") for number in (1, 2)}


def test_all_families_are_hinted_at_and_those_left_out_are_told(tmp_path: Path) -> None:
    path = written({"KEY": IDS["id"], **DX, **PR, **BESIDE["numbers of other things"]}, tmp_path)
    sets = {"DX#": "diagnoses", "PR#": "procedures"}
    options = " ".join(f"--codes '{one}={said}'" for one, said in sets.items())
    with pytest.raises(InputError, match=re.escape(f"--id KEY --label 'DX#,PR#' {options}")):
        audit.load_labels(path, "icd9cm")
    one = audit.load_labels(path, "icd9cm", id="KEY", label="DX#")
    told = next(said for said in one.readings if "left out: PR#" in said.decision)
    assert (one.ledger.rows_mapped, told.rows) == (3 * ROWS, ROWS)
    assert told.option == f"--label 'DX#,PR#' {options}"
    codes = [f"{one}={said}" for one, said in sets.items()]
    every = audit.load_labels(path, "icd9cm", id="KEY", label="DX#,PR#", codes=codes)
    assert every.ledger.rows_mapped == 5 * ROWS
    assert not any("left out" in said.decision for said in every.readings)
    counted = count_pairs(path, "icd9cm", instance="KEY", label="DX#")
    assert told in counted.readings


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Confidence", of("1", "0")),
        ("rater", of("a", "b")),
        ("y_pred", codes(1)),
        ("p", [f"0.{row // 2 + 10}" for row in range(ROWS)]),
    ],
)
def test_a_hint_names_no_column_as_the_id_that_is_none(
    name: str, values: list[str], tmp_path: Path
) -> None:
    table = {name: values, "ImageID": STAYS, "dx": codes(0)}
    with pytest.raises(InputError, match="--id ImageID --label dx"):
        audit.load_labels(written(table, tmp_path), "icd9cm")
    if name in ("rater", "Confidence"):
        del table["ImageID"]
        with pytest.raises(InputError, match="no columns that were tried"):
            audit.load_labels(written(table, tmp_path), "icd9cm")


def test_an_id_with_hardly_any_values_is_told(tmp_path: Path) -> None:
    path = written({"rater": of("a", "b"), "scan": STAYS, "dx": codes(0)}, tmp_path)
    loaded = audit.load_labels(path, "icd9cm", id="rater", label="dx")
    (told,) = (said for said in loaded.readings if said.option == "--id COLUMN")
    assert (told.decision, told.rows) == (
        "'rater' is the id, so that all rows are 2 instances",
        ROWS,
    )
    assert told in count_pairs(path, "icd9cm", instance="rater", label="dx", sort=True).readings
    other = audit.load_labels(path, "icd9cm", id="scan", label="dx")
    assert told.option not in [said.option for said in other.readings]
