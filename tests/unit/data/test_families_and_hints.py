"""Which columns hold labels and ids: families, guards and hints, by the nodes of a hierarchy."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.base.errors import InputError, SchemaError
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.data.code_sets import with_codes
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


def taken(read: LabelDataset | PairCount) -> dict[str, str]:
    """The columns that nobody named, by the option that names another."""
    decided = ((said.option.partition(" ")[0], said.decision) for said in read.readings)
    found = ((option, re.match("'(.*?)' (is the|holds)", said)) for option, said in decided)
    roles = ("--id", "--group", "--label")
    return {option: name[1] for option, name in found if option in roles and name}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_family_is_read_without_what_stands_beside_it(
    beside: dict[str, list[str]], tmp_path: Path
) -> None:
    path = written({**IDS, **DX, **beside}, tmp_path)
    loaded = (audit.load_labels(path, "icd9cm"), audit.load_labels(path, "icd9cm", label="DX#"))
    counted = (count_pairs(path, "icd9cm"), count_pairs(path, "icd9cm", label="DX#"))
    assert {one.ledger.rows_mapped for one in (*loaded, *counted)} == {3 * ROWS}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_the_family_alone_is_taken(beside: dict[str, list[str]], tmp_path: Path) -> None:
    key = {"KEY_NIS": IDS["id"], "AGE": of("50", "61"), "NDX": of("3")}
    path = written({**key, **DX, **beside}, tmp_path)
    for read in (audit.load_labels(path, "icd9cm"), count_pairs(path, "icd9cm")):
        assert taken(read) == {"--id": "KEY_NIS", "--label": "DX#"}
        assert read.ledger.rows_mapped == 3 * ROWS


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


def test_words_for_no_code_are_blanks_of_a_family(tmp_path: Path) -> None:
    dataset = audit.load_labels(
        written({**IDS, **DX, "DX4": of(*["NA"] * 9, "486")}, tmp_path), "icd9cm"
    )
    assert dataset.ledger.rows_mapped == 3 * ROWS + ROWS // 10


def test_a_family_some_columns_of_which_hold_fewer_nodes_is_asked_about(tmp_path: Path) -> None:
    path = written({**IDS, **DX, "DX4": of("X", "Y", "486")}, tmp_path)
    with pytest.raises(InputError, match="--id id --label 'DX1,DX2,DX3'"):
        audit.load_labels(path, "icd9cm")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_each_name_between_commas_is_that_of_a_column(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "one": ["401.9", "428.0"], "two": ["250.00", "486"]})
    path = tmp_path / f"a{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_ndjson(path)
    assert audit.load_labels(path, "icd9cm", label="one,two").ledger.rows_mapped == 4
    with pytest.raises(SchemaError, match="fit 'too'"):
        audit.load_labels(path, "icd9cm", label="one,too")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_lists_of_nodes_are_labels_under_any_name(suffix: str, tmp_path: Path) -> None:
    rows = {"gene": NUMBERS, "organism": of("x", "y z"), "terms": [[code] for code in codes(0)]}
    frame, path = pl.DataFrame(rows), tmp_path / f"a.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ndjson(path)
    dataset = audit.load_labels(path, "icd9cm")
    assert taken(dataset) == {"--id": "gene", "--label": "terms"}
    assert (len(dataset), dataset.ledger.rows_mapped) == (ROWS, ROWS)


def test_ids_and_answers_of_predictions_are_called_as_the_labels_are(tmp_path: Path) -> None:
    labels = audit.load_labels(written({"CLAIM_NO": STAYS, "dx": codes(0)}, tmp_path), "icd9cm")
    for column, extra in (("dx", {}), ("icd9_code", {"score": of("0.9", "0.8")})):
        rows = {"CLAIM_NO": STAYS[::3], "batch": of("b1")[:20], column: codes(0)[::3]}
        scores = pl.DataFrame({**rows, **{k: v[:20] for k, v in extra.items()}})
        assert audit.load_predictions(scores, labels).instances == tuple(sorted({*STAYS}))


def test_a_pipeline_says_scores_under_any_key(tmp_path: Path) -> None:
    pairs = '[{"label": "4280", "score": 0.7}, {"label": "486", "score": 0.3}]'
    path = tmp_path / "p.jsonl"
    path.write_text("".join(f'{{"n": "{n}", "predictions": {pairs}}}\n' for n in NUMBERS))
    labels = audit.load_labels(written({"n": NUMBERS, "dx": codes(0)}, tmp_path), "icd9cm")
    assert audit.load_predictions(path, labels).scores.sum() == pytest.approx(ROWS)


def test_a_title_behind_a_code_is_no_second_label(tmp_path: Path) -> None:
    cells = [f"{code} a title of it" for code in codes(0)]
    dataset = audit.load_labels(written({**IDS, "dx": cells}, tmp_path), "icd9cm")
    assert dataset.ledger.rows_mapped == ROWS


STAYS = [str(140000 + row // 3) for row in range(ROWS)]
PERSONS = [str(1000 + row // 6) for row in range(ROWS)]
NUMBERS = [str(5001 + row) for row in range(ROWS)]
LAYOUTS: dict[str, tuple[dict[str, list[str]], dict[str, str]]] = {
    "eICU": (
        {
            "diagnosisid": NUMBERS,
            "patientunitstayid": STAYS,
            "diagnosisoffset": [str(100 + row * 7) for row in range(ROWS)],
            "icd9code": [f"{code}, N17.9" for code in codes(0)],
        },
        {"--id": "patientunitstayid", "--label": "icd9code"},
    ),
    "OMOP": (
        {
            "condition_occurrence_id": NUMBERS,
            "person_id": PERSONS,
            "condition_concept_id": of("0", "320128", "201826"),
            "visit_occurrence_id": STAYS,
            "condition_source_value": codes(0),
        },
        {
            "--id": "visit_occurrence_id",
            "--group": "person_id",
            "--label": "condition_source_value",
        },
    ),
    "mails": (
        {"post": IDS["id"], "subject": of("Re: a", "Re: b c"), "dx": codes(0)},
        {"--id": "post", "--label": "dx"},
    ),
    "decimals": (
        {"paper_id": [f"1206.{n}" for n in NUMBERS], "title": of("On a", "On b"), "dx": codes(0)},
        {"--id": "paper_id", "--label": "dx"},
    ),
    "claims": (
        {"member": PERSONS, "claim": STAYS, "amount": of("12.5", "7"), "dx": codes(0)},
        {"--id": "claim", "--group": "member", "--label": "dx"},
    ),
}


@pytest.mark.parametrize(("columns", "options"), LAYOUTS.values(), ids=LAYOUTS)
def test_clear_columns_are_taken_and_told(
    columns: dict[str, list[str]], options: dict[str, str], tmp_path: Path
) -> None:
    path = written(columns, tmp_path)
    dataset = audit.load_labels(path, "icd9cm")
    assert taken(dataset) == options
    ids = len({*columns[options["--id"]]})
    assert (len(dataset), dataset.ledger.rows_mapped) == (ids, ROWS)
    assert all(said.rows == ROWS for said in dataset.readings if said.option.endswith("COLUMN"))
    named = {option.strip("-"): column for option, column in options.items()}
    of_columns = audit.load_labels(path, "icd9cm", **named)
    assert of_columns.direct.nnz == dataset.direct.nnz
    for option in ("id", "label"):
        one = audit.load_labels(path, "icd9cm", **{option: named[option]})
        assert taken(one) == {k: v for k, v in options.items() if k != f"--{option}"}
    known = with_codes(audit.load_hierarchy("icd9cm"), "as-written")
    counted = count_pairs(path, known, sort=True)
    assert taken(counted) == {k: v for k, v in options.items() if k != "--group"}
    assert counted.ledger.rows_mapped == ROWS


def test_columns_of_many_rows_are_found_in_the_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"stay": STAYS, "dx": codes(0)}).write_parquet(path)
    wanted = count_pairs(path, "icd9cm", sort=True)
    monkeypatch.setattr("audit.data.sources.file.MANY", ROWS)
    monkeypatch.setattr("audit.data.sources.File.table", None)

    found = count_pairs(path, "icd9cm", sort=True)

    assert (found.readings, found.ledger) == (wanted.readings, wanted.ledger)
    assert taken(found) == {"--id": "stay", "--label": "dx"}


COUNTED = [str(1 + row % 3) for row in range(ROWS)]
UNCLEAR: dict[str, tuple[dict[str, list[str]], str]] = {
    "two columns of codes": (
        {"stay": STAYS, "dx": codes(0), "px": codes(1)},
        "--id stay --label 'dx,px'",
    ),
    "two stays": ({"visit_id": STAYS, "claim_id": PERSONS, "dx": codes(0)}, "--label dx"),
    "stays that are counted": (
        {"patient_id": PERSONS, "visit_no": COUNTED, "dx": codes(0)},
        "--group patient_id --label dx|--label dx",
    ),
    "ages alone": ({"age": [str(20 + row // 2) for row in range(ROWS)], "dx": codes(0)}, "dx"),
    "numbers of rows beside persons": (
        {"id": NUMBERS, "patient_id": PERSONS, "dx": codes(0)},
        "--label dx",
    ),
    "rows of one instance": ({"CLM_ID": STAYS, "note_id": NUMBERS, **DX}, "--label 'DX#'"),
    "another column of codes beside a family": (
        {"KEY": IDS["id"], **DX, "extra": codes(6)},
        "--id KEY --label 'DX#,extra'",
    ),
}


@pytest.mark.parametrize(("columns", "hint"), UNCLEAR.values(), ids=UNCLEAR)
def test_unclear_columns_are_asked(
    columns: dict[str, list[str]], hint: str, tmp_path: Path
) -> None:
    path = written(columns, tmp_path)
    for read in (audit.load_labels, count_pairs):
        with pytest.raises(InputError, match=f"perhaps: (.|\n)*({hint})"):
            read(path, "icd9cm")


def test_a_row_that_was_cut_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("stay,code\n" + "a,4019\nb,486\n" * 9 + "c\n")
    with pytest.raises(InputError, match="fewer fields was cut"):
        audit.load_labels(tmp_path / "a.csv", "icd9cm")


def test_where_no_column_holds_nodes_the_hint_says_so(tmp_path: Path) -> None:
    path = written({"stay": STAYS, "colour": of("red", "blue"), "size": of("a", "b")}, tmp_path)
    with pytest.raises(InputError, match=r"no columns that were tried hold .* of this hierarchy"):
        audit.load_labels(path, "icd9cm")


def test_a_column_that_says_whether_a_label_is_carried_is_asked_about(tmp_path: Path) -> None:
    images = [f"image{row // 3}" for row in range(ROWS)]
    columns = {"ImageID": images, "LabelCode": codes(1), "Confidence": of("1", "1", "0", "1")}
    path = written(columns, tmp_path)
    with pytest.raises(InputError, match="it must be stated what 'Confidence' says of labels"):
        audit.load_labels(path, "icd9cm")
    read = audit.load_labels(path, "icd9cm", where=["Confidence=*"])
    assert taken(read) == {"--id": "ImageID", "--label": "LabelCode"}


PR = {f"PR{number}": of("3961", "8856", "3893") for number in (1, 2)}


def test_all_families_are_taken_and_those_left_out_are_told(tmp_path: Path) -> None:
    path = written({"KEY": IDS["id"], **DX, **PR, **BESIDE["numbers of other things"]}, tmp_path)
    sets = {"DX#": "diagnoses", "PR#": "procedures"}
    options = " ".join(f"--codes '{one}={said}'" for one, said in sets.items())
    with pytest.raises(InputError, match=re.escape(f"--id KEY --label 'DX#,PR#' {options}")):
        count_pairs(path, "icd9cm")
    one = audit.load_labels(path, "icd9cm", id="KEY", label="DX#")
    told = next(said for said in one.readings if "left out: PR#" in said.decision)
    assert (one.ledger.rows_mapped, told.rows) == (3 * ROWS, ROWS)
    assert told.option == f"--label 'DX#,PR#' {options}"
    codes = [f"{one}={said}" for one, said in sets.items()]
    every = audit.load_labels(path, "icd9cm", id="KEY", label="DX#,PR#", codes=codes)
    found = audit.load_labels(path, "icd9cm")
    assert (taken(found), found.direct.nnz) == (
        {"--id": "KEY", "--label": "DX#,PR#"},
        every.direct.nnz,
    )
    assert {f"'{one}' holds {said}" for one, said in sets.items()} <= {
        said.decision for said in found.readings
    }
    assert every.ledger.rows_mapped == found.ledger.rows_mapped == 5 * ROWS
    assert not any("left out" in said.decision for said in (*every.readings, *found.readings))
    counted = count_pairs(path, "icd9cm", instance="KEY", label="DX#")
    assert told in counted.readings


def test_a_column_within_a_family_is_left_out_and_told(tmp_path: Path) -> None:
    path = written({"KEY": IDS["id"], **DX, "admitting": DX["DX2"]}, tmp_path)
    read = audit.load_labels(path, "icd9cm")
    (told,) = (said for said in read.readings if said.decision == "'admitting' is left out")
    assert (told.option, read.ledger.rows_mapped) == ("--label 'DX#,admitting'", 3 * ROWS)
    assert audit.load_labels(path, "icd9cm", label="DX#,admitting").ledger.rows_mapped == 4 * ROWS


def test_an_id_that_is_named_as_an_admission_is_not_left_out(tmp_path: Path) -> None:
    ids = [str(1000 + row // 3) for row in range(1200)]
    path = written({"admission": ids, "icd9": ["401.9", "428.0", "427.31"] * 400}, tmp_path)
    read = audit.load_labels(path, "icd9cm")
    assert not any("left out" in said.decision for said in read.readings)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Confidence", of("1", "0")),
        ("rater", of("a", "b")),
        ("y_pred", codes(1)),
        ("p", [f"0.{row // 2 + 10}" for row in range(ROWS)]),
    ],
)
def test_what_is_no_id_is_not_taken_for_one(name: str, values: list[str], tmp_path: Path) -> None:
    table = {name: values, "ImageID": STAYS, "dx": codes(0)}
    where = ["Confidence=*"] if name == "Confidence" else []
    read = audit.load_labels(written(table, tmp_path), "icd9cm", where=where)
    assert taken(read) == {"--id": "ImageID", "--label": "dx"}
    if name in ("rater", "Confidence"):
        del table["ImageID"]
        with pytest.raises(InputError, match="perhaps: --id ROW --label dx"):
            audit.load_labels(written(table, tmp_path), "icd9cm")
        every = audit.load_labels(tmp_path / "a.csv", "icd9cm", id="ROW", label="dx", where=where)
        assert (len(every), every.ledger.rows_mapped) == (ROWS, ROWS)


LISTED = [[one, two] for one, two in zip(codes(0), codes(1), strict=True)]
WIDE: dict[str, tuple[dict[str, list[str]], dict[str, str], int]] = {
    "segments of claims": (
        {"DESYNPUF_ID": PERSONS, "CLM_ID": STAYS, "NPI": NUMBERS, **DX},
        {"--id": "CLM_ID", "--group": "DESYNPUF_ID", "--label": "DX#"},
        ROWS // 3,
    ),
    "lines of claims": (
        {"CLM_ID": STAYS, "line": COUNTED, **DX},
        {"--id": "CLM_ID", "--label": "DX#"},
        ROWS // 3,
    ),
    "two ids of each row": (
        {"THCIC_ID": NUMBERS, "RECORD_ID": IDS["id"], **DX},
        {"--id": "RECORD_ID", "--label": "DX#"},
        ROWS,
    ),
    "a principal beside a family": (
        {"Account Number": NUMBERS, "PDX": codes(4), "SDX 1": codes(0), "SDX 2": codes(1)},
        {"--id": "Account Number", "--label": "PDX,SDX #"},
        ROWS,
    ),
    "numbers beside codes": (
        {"key": NUMBERS, "year": of("2009"), "dayslos": of("0029", "0012", "0777"), **DX},
        {"--id": "key", "--label": "DX#"},
        ROWS,
    ),
    "categories without zeros": (
        {"encounter_id": NUMBERS, "patient_nbr": PERSONS,
         "diag_1": of("38", "250", "486"), "diag_2": of("428", "41", "V58")},
        {"--id": "encounter_id", "--group": "patient_nbr", "--label": "diag_#"},
        ROWS,
    ),
    "a code within a text beside it": (
        {"enc_id": STAYS, "name": [f"Dx name {c}" for c in codes(0)],
         "list": [",".join(both) for both in LISTED]},
        {"--id": "enc_id", "--label": "list"},
        ROWS // 3,
    ),
    "a sample of each row": (
        {"PATIENT_ID": PERSONS, "SAMPLE_ID": IDS["id"], "dx": codes(0)},
        {"--id": "SAMPLE_ID", "--group": "PATIENT_ID", "--label": "dx"},
        ROWS,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "options", "ids"), WIDE.values(), ids=WIDE)
def test_columns_by_which_the_instances_are_the_same_are_one_reading(
    columns: dict[str, list[str]], options: dict[str, str], ids: int, tmp_path: Path
) -> None:
    read = audit.load_labels(written(columns, tmp_path), "icd9cm")
    assert (taken(read), len(read)) == (options, ids)
    for said in read.readings:
        if said.decision.endswith("is left out"):
            other = audit.load_labels(
                tmp_path / "a.csv", "icd9cm", label=said.option[8:].strip("'")
            )
            assert other.direct.nnz != read.direct.nnz


def test_of_lists_that_hold_one_another_the_fullest_are_the_labels(tmp_path: Path) -> None:
    lists = {"proc": [one[:1] for one in LISTED], "diag": [one[1:] for one in LISTED]}
    frame = pl.DataFrame({"note_id": NUMBERS, "_id": IDS["id"], **lists, "target": LISTED})
    read = audit.load_labels(frame, "icd9cm")
    assert (taken(read)["--label"], read.ledger.rows_mapped) == ("target", 2 * ROWS)
    (told, _) = (said for said in read.readings if said.decision.endswith("is left out"))
    assert audit.load_labels(frame, "icd9cm", label=told.option[8:]).ledger.rows_mapped == ROWS


def test_an_id_with_hardly_any_values_is_told(tmp_path: Path) -> None:
    path = written({"rater": of("a", "b"), "scan": STAYS, "dx": codes(0)}, tmp_path)
    loaded = audit.load_labels(path, "icd9cm", id="rater", label="dx")
    (told,) = (said for said in loaded.readings if said.option == "--id COLUMN")
    assert (told.decision, told.rows) == (
        "'rater' is the id, so that all rows are 2 instances",
        ROWS,
    )
    assert told in count_pairs(path, "icd9cm", instance="rater", label="dx", sort=True).readings
    lists = {"rater": of("a", "b"), "scan": STAYS, "labels": [[code] for code in codes(0)]}
    pl.DataFrame(lists).write_ndjson(tmp_path / "a.jsonl")
    assert told in audit.load_labels(tmp_path / "a.jsonl", "icd9cm", id="rater").readings
    assert told in count_pairs(tmp_path / "a.jsonl", "icd9cm", instance="rater", sort=True).readings
    other = audit.load_labels(path, "icd9cm", id="scan", label="dx")
    assert told.option not in [said.option for said in other.readings]


def test_codes_that_lost_zeros_beside_a_file_are_asked_in_a_workbook_too(tmp_path: Path) -> None:
    tree = {"07070": "liver", "7070": "skin", "0389": "blood", "4019": "blood"}
    table = pl.DataFrame({"case_no": STAYS, "icd9": of("7070", "389", "4019", "4019")})
    with pytest.raises(InputError, match="--id case_no --label icd9"):
        audit.load_labels(table, tree)
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    table.write_excel(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="--id case_no --label icd9"):
        audit.load_labels(tmp_path / "a.xlsx", tree)
    sound = table.with_columns(icd9=pl.col("icd9").replace("389", "0389"))
    sound.write_excel(tmp_path / "a.xlsx")
    assert taken(audit.load_labels(tmp_path / "a.xlsx", tree))["--id"] == "case_no"


ANIMALS = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}


def test_a_hint_names_both_of_two_ways_to_read_a_table(tmp_path: Path) -> None:
    one, other = of("dog", "oak", "cat", "rose"), of("cat", "cat", "oak", "rose", "dog")
    for columns, hint in (
        (
            {"image": NUMBERS, "true": one, "seen": other},
            "--label true or: --id image --label seen",
        ),
        ({"file": NUMBERS, "src": STAYS, "tag": one}, "--id src --label tag or: --id file"),
    ):
        with pytest.raises(InputError, match=f"perhaps: .*{hint}"):
            audit.load_labels(written(columns, tmp_path), ANIMALS)


def test_of_levels_of_one_path_the_lowest_is_read(tmp_path: Path) -> None:
    own = {"x1": of("dog", "oak", "cat", "rose"), "kind": of("animal", "plant", "animal", "plant")}
    table = {"image": NUMBERS, **own}
    assert taken(audit.load_labels(written(table, tmp_path), ANIMALS))["--label"] == "x1"


def test_the_second_answer_of_a_model_is_no_label(tmp_path: Path) -> None:
    table = {"path": NUMBERS, "true_label": codes(0), "pred": codes(1), "top2_label": codes(2)}
    assert taken(audit.load_labels(written(table, tmp_path), "icd9cm"))["--label"] == "true_label"


def test_rows_numbered_as_nodes_are_named_no_labels_beside_titles(tmp_path: Path) -> None:
    names = ["Live animals", "Bird cages", "Coats", "Shoes"]
    tree = "".join(f"{n},{name},9\n" for n, name in enumerate(names, start=1))
    (tmp_path / "tree.csv").write_text(f"id,name,parent_id\n9,Goods,\n{tree}", "utf-8")
    path = written({"sku": ["1", "2", "3", "4"], "kind": names[::-1]}, tmp_path)

    read = audit.load_labels(path, tmp_path / "tree.csv")

    assert taken(read)["--label"] == "kind"
    assert [read.hierarchy.nodes[n] for n in read.assertions["node"]] == ["4", "3", "2", "1"]
