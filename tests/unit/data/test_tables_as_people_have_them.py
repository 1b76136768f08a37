"""Tables as people have them: one command reads each, or the message names the one that does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.errors import AuditError, FormatError, InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.known_nodes import hold_several
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.several import families, families_of
from audit.data.records import fitting
from audit.data.sources import Frame

RECORDS = {"01": ["401.9", "250.00", "038.9"], "02": ["428.0"], "03": []}


def found(raw: RawLabels) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {one: [] for one in raw.instances["instance"]}
    for one, label in raw.rows.select("instance", "label").iter_rows():
        labels[one].append(label)
    return labels


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def several(names: list[str]) -> str:
    rows = [",".join(["id", *names])]
    for one, labels in RECORDS.items():
        rows.append(",".join([one, *labels, *[""] * (len(names) - len(labels))]))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("label", [None, "DX#", "DX*", "dx?", "DX[123]", "DX1,dx2,DX3"])
def test_numbered_columns_are_read_in_their_order(label: str | None, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", several(["DX1", "DX2", "DX3"]))
    raw = read_labels(path, Columns(label=label))
    assert found(raw) == RECORDS
    assert raw.rows["position"].to_list() == [1, 2, 3, 1]
    assert raw.format == "several"


def test_one_of_numbered_columns_is_refused_unless_it_is_meant_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", several(["DX1", "DX2", "DX3"]))
    with pytest.raises(SchemaError, match=r"--label 'DX#' names them all, --label 'DX\[1\]'"):
        read_labels(path, Columns(label="DX1"))
    assert found(read_labels(path, Columns(label="DX[1]"))) == {
        one: labels[:1] for one, labels in RECORDS.items()
    }


def test_a_gap_keeps_the_positions_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,DX1,DX2,DX3\n1,401.9,,250.00\n")
    assert read_labels(path, Columns()).rows["position"].to_list() == [1, 3]


def test_a_pattern_that_no_column_fits_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", several(["DX1", "DX2", "DX3"]))
    with pytest.raises(SchemaError, match=r"columns that fit 'PR\*'(.|\n)*--label 'DX#'"):
        read_labels(path, Columns(label="PR*"))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=8, unique=True))
def test_families_without_nodes_are_runs_from_nought_or_one(numbers: list[int]) -> None:
    names = [f"c{number}" for number in numbers]
    run = min(numbers) <= 1 and max(numbers) - min(numbers) == len(numbers) - 1
    frame = Frame(pl.DataFrame({name: [""] for name in ["id", *names]}))
    assert families(["id", *names]) == {"c#": names}
    assert families_of(frame) == ({"c#": names} if run else {})
    assert fitting("C#", ["id", "c", *names, f"{names[0]}_poa"]) == names


@pytest.mark.parametrize("sign", [";", "|", ",", " ", "; ", ", "])
@pytest.mark.parametrize(("name", "columns"), [("codes", {}), ("mine", {"label": "mine"})])
def test_labels_of_one_cell_are_split(
    sign: str, name: str, columns: dict[str, str], tmp_path: Path
) -> None:
    rows = [f'{one},"{sign.join(labels)}"' for one, labels in RECORDS.items()]
    path = written(tmp_path, "a.csv", "\n".join([f"id,{name}", *rows]) + "\n")
    raw = read_labels(path, Columns(**columns))
    assert found(raw) == RECORDS
    assert raw.format == "joined"


@pytest.mark.parametrize(
    "cells",
    [["heart failure, acute", "flu"], ["dog cat"], ["Diabetes, type 2"], ["401.9"], [""], []],
)
def test_texts_that_are_one_label_are_not_split(cells: list[str]) -> None:
    assert not hold_several(cells)


def test_any_table_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    rows = [f"{one},{label}" for one, labels in RECORDS.items() for label in labels]
    path = written(tmp_path, "a.csv", "\n".join(["patient,diagnosis", *rows]) + "\n")
    with pytest.raises(FormatError, match="the columns 'patient', 'diagnosis'"):
        read_labels(path, Columns())
    labels = found(read_labels(path, Columns(id="patient", label="Diagnosis")))
    assert labels == {one: labels for one, labels in RECORDS.items() if labels}


def test_semicolons_separate_fields(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id;label\n01;401.9\n02;038.9\n")
    assert found(read_labels(path, Columns())) == {"01": ["401.9"], "02": ["038.9"]}


def test_flags_may_be_fractions_of_one_and_nought(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,401.9,038.9\n01,1.0,0.0\n02,0.0,1.0\n")
    assert found(read_labels(path, Columns())) == {"01": ["401.9"], "02": ["038.9"]}


def test_an_array_of_objects_is_read(tmp_path: Path) -> None:
    rows = [{"id": one, "labels": labels} for one, labels in RECORDS.items()]
    path = written(tmp_path, "a.json", json.dumps(rows, indent=1))
    assert found(read_labels(path, Columns())) == RECORDS


@pytest.mark.parametrize(
    "text",
    [
        '[{"labels": [',
        '[1, {"labels": []}]',
        '[{"labels": []}] x',
        '[{"labels": [NaN]}]',
        '[{"labels": ' + "[" * 100_000,
    ],
    ids=["cut", "a number", "more", "no number", "deep"],
)
def test_a_broken_array_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"a\.json"):
        read_labels(written(tmp_path, "a.json", text), Columns())


def test_an_entry_of_an_array_that_is_no_object_is_told_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", '[{"id": 1, "labels": []}, "dog"]')
    with pytest.raises(InputError, match="must be a JSON object") as caught:
        read_labels(path, Columns())
    assert (caught.value.where, caught.value.found) == (f"{path}: entry 2", '"dog"')


# --- workbooks --------------------------------------------------------------------------------


def test_a_sheet_keeps_zeros_and_counts_no_empty_sheet(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("codes")
        for row, cells in enumerate((("id", "label"), ("01", "0380"), ("02", 250))):
            sheet.write_row(row, 0, cells)
        book.add_worksheet("notes")
    raw = read_labels(tmp_path / "a.xlsx", Columns())
    assert found(raw) == {"01": ["0380"], "02": ["250"]}
    assert raw.sources == (tmp_path / "a.xlsx",)


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    with pytest.raises(InputError, match=r"a\.xlsx: a workbook that can be read"):
        read_labels(written(tmp_path, "a.xlsx", "id,label\n"), Columns())


# --- saved datasets ---------------------------------------------------------------------------


def saved(folder: Path, table: pa.Table, features: dict[str, object]) -> None:
    """A folder as ``Dataset.save_to_disk`` writes it."""
    folder.mkdir(parents=True)
    path = str(folder / "data-00000-of-00001.arrow")
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


NAMED = {"names": ["038.9", "401.9"], "_type": "ClassLabel"}


def test_splits_and_names_of_a_saved_dataset_are_read(tmp_path: Path) -> None:
    lists = pa.table({"labels": pa.array([[0, 1], [], [1]], pa.list_(pa.int64()))})
    feature = {"labels": {"feature": NAMED, "_type": "Sequence"}}
    for split in ("train", "test"):
        saved(tmp_path / "d" / split, lists, feature)
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    raw = read_labels(tmp_path / "d", Columns(split="split"))
    assert found(raw) == {
        f"{split}/{row}": labels
        for split in ("train", "test")
        for row, labels in enumerate((["038.9", "401.9"], [], ["401.9"]))
    }
    assert raw.instances["split"].to_list() == ["train"] * 3 + ["test"] * 3


def test_one_class_a_row_and_none(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "label": [1, -1]})
    saved(tmp_path / "d", table, {"label": NAMED})
    raw = read_labels(tmp_path / "d", Columns())
    assert raw.rows.select("instance", "label").rows() == [("a", "401.9"), ("b", None)]


@pytest.mark.parametrize("missing", ["state.json", "data-00000-of-00001.arrow"])
def test_a_broken_saved_dataset_is_refused(missing: str, tmp_path: Path) -> None:
    saved(tmp_path / "d", pa.table({"id": ["a"], "label": ["401.9"]}), {})
    (tmp_path / "d" / missing).write_text("{}")
    with pytest.raises(AuditError, match=missing):
        read_labels(tmp_path / "d", Columns())


@pytest.mark.parametrize(
    "stated", [{"dataset_dict.json": '{"splits": []}'}, {"state.json": '{"_data_files": []}'}]
)
def test_a_saved_dataset_of_nothing_is_refused(stated: dict[str, str], tmp_path: Path) -> None:
    for name, content in {"dataset_info.json": '{"features": {}}', **stated}.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(AuditError, match="at least one"):
        read_labels(tmp_path, Columns())


STATED = [
    *[("state.json", {"_data_files": [{"filename": one}]}) for one in (
        "../data-00000-of-00001.arrow", "/etc/passwd", "..", "", "a\0b", 7, None, ["x"], "x" * 300
    )],
    *[("state.json", {"_data_files": one}) for one in (7, "x", {"a": 1}, [7])],
    *[("dataset_dict.json", {"splits": one}) for one in (["../d"], 7, [7], {"a": 1})],
    *[("dataset_info.json", {"features": {"label": {"_type": "ClassLabel", "names": one}}})
      for one in (["a", "a"], 7, [7], ["a", 7], "ab", {"a": 1}, ["\ud800", "b"])],
    ("dataset_info.json", {"features": [7]}),
]  # fmt: skip
"""Files of a saved dataset that state what is no plain name in the folder, or of another type."""


@pytest.mark.parametrize(("name", "stated"), STATED)
def test_what_a_saved_dataset_may_not_state(name: str, stated: object, tmp_path: Path) -> None:
    saved(tmp_path / "d", pa.table({"id": ["a"], "label": [0]}), {"label": NAMED})
    read_labels(tmp_path / "d", Columns())
    (tmp_path / "d" / name).write_text(json.dumps(stated))
    with pytest.raises(AuditError):
        read_labels(tmp_path / "d", Columns())


# --- in memory --------------------------------------------------------------------------------


def test_lists_and_arrays_are_read() -> None:
    lists = audit.load_labels([["401.9", "250.00"], [], ["038.9"]], "icd9cm")
    flags = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]])
    names = ["401.9", "250.00", "038.9"]
    array = audit.load_labels(flags, "icd9cm", classes=names)
    for one in (lists, array):
        assert one.instances["instance"].to_list() == ["0", "1", "2"]
        nodes = [one.hierarchy.nodes[node] for node in one.assertions["node"]]
        assert sorted(nodes) == sorted(names)
    scores = audit.load_predictions(flags * 0.5, array, classes=names)
    assert len(scores) == 3
    assert array.digest != audit.load_labels(1 - flags, "icd9cm", classes=names).digest


def test_a_list_or_series_of_labels_has_one_an_instance() -> None:
    once, listed = ["dog", "cow", None], [["dog"], ["cow"], []]
    tree = {"dog": "animal", "cow": "animal"}
    digests = {audit.load_labels(data, tree).digest for data in (once[:2], pl.Series(once[:2]))}
    assert digests == {audit.load_labels(listed[:2], tree).digest}
    assert len(audit.load_labels(once, tree).instances) == 3


def test_a_list_of_numbers_is_refused() -> None:
    with pytest.raises(AuditError, match=r"must be text: as numbers they have lost"):
        audit.load_labels([4019, 2500], "icd9cm")


def test_a_hierarchy_may_be_a_dictionary_of_parents() -> None:
    dataset = audit.load_labels([["cat"]], {"cat": ["pet", "mammal"], "pet": None, "mammal": "it"})
    assert set(dataset.hierarchy.nodes) >= {"cat", "pet", "mammal", "it"}


def test_a_column_of_labels_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "Fall;Diagnose (ICD)\n1;401.9\n")
    with pytest.raises(SchemaError, match=r"'Diagnose'.*\n.*'Fall', 'Diagnose \(ICD\)'"):
        read_labels(path, Columns(label="Diagnose"))


def test_the_finer_of_two_ids_is_taken_and_the_other_is_the_group(tmp_path: Path) -> None:
    codes = ("401.9", "250.00", "428.0", "V58.67", "584.9")
    rows = "".join(f"p{n // 4};s{n // 2};{codes[n % 5]};x{n % 3}\n" for n in range(30))
    path = written(tmp_path, "a.csv", f"Patient Nr;Fall;Diagnose (ICD);Site\n{rows}")
    read = audit.load_labels(path, "icd9cm")
    said = [one.decision for one in read.readings[:3]]
    holds, is_id, groups = "'Diagnose (ICD)' holds", "'Fall' is the id", "'Patient Nr' is the group"
    assert all(
        one.startswith(wanted) for one, wanted in zip(said, (holds, is_id, groups), strict=True)
    )
    assert (len(read), read.ledger.groups) == (15, 8)


@pytest.mark.parametrize("unit", ["SAMPLE_ID", "specimen", "Image Index", "tumor_id", "Slide No"])
def test_samples_of_persons_are_instances_and_those_their_groups(unit: str, tmp_path: Path) -> None:
    rows = "".join(f"P{n // 2},{n // 2}-{n},{code}\n" for n, code in enumerate(["401.9"] * 60))
    path = written(tmp_path, "a.csv", f"PATIENT_ID,{unit},what\n{rows}")

    read = audit.load_labels(path, "icd9cm")
    assert (len(read), read.ledger.groups) == (60, 30)
    assert f"{unit!r} is the id of an instance" in [said.decision for said in read.readings]
    assert len(audit.load_labels(path, "icd9cm", id="PATIENT_ID")) == 30


def test_what_stands_in_the_place_of_something_else_is_told() -> None:
    dataset = audit.load_labels(["dog", "cow"], {"dog": "animal", "cow": "animal"})
    scores = np.array([[0.25, 0.75], [1.0, 0.0]])
    with pytest.raises(InputError, match="the dataset that is predicted"):
        audit.load_predictions(scores, dataset.hierarchy, classes=["dog", "cow"])  # type: ignore[arg-type]
    predictions = audit.load_predictions(scores, dataset, classes=["dog", "cow"])
    with pytest.raises(InputError, match="run_audit\\(data, predictions="):
        audit.run_audit(dataset, predictions)  # type: ignore[arg-type]


def test_names_of_hierarchies_ignore_case_and_dashes() -> None:
    assert audit.load_hierarchy("ICD-9-CM").name == audit.load_hierarchy("icd9cm").name
    with pytest.raises(InputError, match="did you mean icd9cm"):
        audit.load_hierarchy("idc9cm")


def test_joined_labels_of_a_frame() -> None:
    frame = pl.DataFrame({"id": ["1", "2"], "labels": ["401.9; 250.00", "038.9"]})
    assert audit.load_labels(frame, "icd9cm").ledger.rows_mapped == 3


@pytest.mark.slow
def test_titles_above_the_header_of_a_sheet_are_left_out_and_told(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    rows = [["Diagnoses, wards"], [], ["No", "dx 1", "dx 2"], ["s1", "I10", "E11.9"], ["s2", "I10"]]
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        for place, row in enumerate(rows):
            sheet.write_row(place, 0, row)
    dataset = audit.load_labels(tmp_path / "a.xlsx", "icd10cm", id="No", label="dx #")
    assert (len(dataset), dataset.ledger.rows_mapped) == (2, 3)
    assert dataset.readings[0].decision.startswith("row 3 names the columns")


TAGS = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
CELLS = {
    "keys of a dictionary": ["{'dog': 100.0, 'oak': 0.0}", "{'cat': 15.0}", "{'rose': 80.0}"],
    "a list in an object": ['{"choices": ["dog", "oak"]}', "cat", "rose"],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_each_node_in_a_cell_of_an_object_is_a_label(cells: list[str]) -> None:
    table = {"photo_id": [*map(str, range(300))], "tags": cells * 100}
    read = audit.load_labels(pl.DataFrame(table), TAGS)
    support = zip(read.hierarchy.nodes, read.direct.sum(axis=0).tolist(), strict=True)
    assert {node for node, number in support if number == 100} == {*TAGS}


def test_what_is_taken_off_a_label_holds_no_other_node() -> None:
    labels = ["{'dog': 1, 'cat': 0}", "{'oak': 1, 'rose': 1}"] * 100
    table = pl.DataFrame({"id": [*map(str, range(200))], "label": labels})
    read = audit.load_labels(table, TAGS, format="long")
    assert (read.ledger.rows_mapped, read.readings) == (0, ())


def test_cells_between_dollars_are_read_and_told(tmp_path: Path) -> None:
    rows = [f"{n}${n // 2}${label}" for n, label in enumerate(["dog", "oak", "cat"] * 9)]
    path = written(tmp_path, "a.txt", "\n".join(["row$image_id$tag", *rows]) + "\n")
    read = audit.load_labels(path, TAGS)
    assert (len(read), read.ledger.rows_mapped) == (14, 27)
    assert any("'$'" in said.decision for said in read.readings)
    prices = written(tmp_path, "b.csv", "id,label,price ($)\n1,dog,$2\n2,oak,$3\n3,cat,$1\n")
    assert audit.load_labels(prices, TAGS).ledger.rows_mapped == 3


@pytest.mark.parametrize("sizes", ["", "3 9 4\n"])
def test_labels_before_numbered_features_are_read(sizes: str, tmp_path: Path) -> None:
    text = f"{sizes}11,12 1:0.5 7:2\n 3:1\n21 2:1e-3 3:4\n"
    read = audit.load_labels(
        written(tmp_path, "train.txt", text), {"11": "1", "12": "1", "21": "2"}
    )
    assert read.assertions["instance"].to_list() == [0, 0, 2]
    assert (len(read), read.ledger.rows_mapped) == (3, 3)


SPELT = {
    "ends of addresses": (
        "http://a.org/atc/{}", "{}", ("A10BA02", "A10BB01", "C07AB02"),
        "by the ends of their addresses, or the numbers behind their words",
    ),
    "a letter before all": (
        "{}", "D{}", ("I10.9", "E11.2", "J18.9", "D50.9", "D64.9"), "behind 'D'"
    ),
    "a letter, no dots": (
        "{}", "D{}", ("I109", "E112", "J189", "D509", "D649"),
        "without their dots or blanks and behind 'D'",
    ),
    "slashes of libraries": (
        "{}", "{}", ("813/.54", "823/.91", "512.5/3", "516"), "with slashes in them"
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", SPELT)
def test_labels_that_are_nodes_but_for_their_spelling_are_read_and_told(way: str) -> None:
    node, label, codes, said = SPELT[way]
    names = [node.format(one.replace("/", "")) for one in codes]
    if "no dots" in way:
        names = [f"{one[:3]}.{one[3:]}" for one in names]
    rows = {"visit_id": range(len(codes)), "code": [label.format(one) for one in codes]}
    dataset = audit.load_labels(rows, dict.fromkeys(names, "top"))
    held = dict(dataset.mappings.select("label", "node").iter_rows())
    assert held == dict(zip(rows["code"], names, strict=True))
    (told,) = [one for one in dataset.readings if " are nodes " in one.decision]
    assert told.option == "--codes as-written"
    assert told.decision.split(" are nodes ")[1] == said


def test_a_letter_that_is_part_of_some_codes_stays() -> None:
    codes = ["D50", "D51", "D52", "D53", "DX9"]
    dataset = audit.load_labels(
        {"id": range(5), "label": codes}, dict.fromkeys([*codes[:4], "X9"], "top")
    )
    assert dataset.ledger.refused == {"unknown_code": 1}


LEVELS = {"sec": [*"AABBA"], "cla": ["A1", "A1", "B1", "B2", "A2"],
          "grp": ["A1x", "A1y", "B1x", "B2x", "A2x"]}  # fmt: skip
ABOVE = {**dict(zip(LEVELS["grp"], LEVELS["cla"], strict=True)),
         **dict(zip(LEVELS["cla"], LEVELS["sec"], strict=True))}  # fmt: skip


@pytest.mark.parametrize("names", [("sec", "cla", "grp"), ("l1", "l2", "l3"), ("grp", "x", "a")])
def test_of_levels_in_a_row_the_lowest_is_the_label(names: tuple[str, ...]) -> None:
    cells = [*LEVELS.values()] if names[0] != "grp" else [*LEVELS.values()][::-1]
    rows = {"visit_id": [*"vwxyz"], **dict(zip(names, cells, strict=True))}
    dataset = audit.load_labels(rows, ABOVE)
    assert sorted(dataset.mappings["node"]) == sorted(LEVELS["grp"])
    assert [one for one in dataset.readings if "are left out" in one.decision]


@pytest.mark.parametrize(("first", "rows"), [("p1,SMART,ax(one)", 4), ("id,kind,node", 3)])
def test_a_row_whose_words_stand_below_in_their_columns_names_none(
    tmp_path: Path, first: str, rows: int
) -> None:
    table = f"{first}\np1,SMART,ax(two)\np2,Pfam,owl(one)\np3,SMART,ax(two)\n"
    id, _, label = first.split(",") if rows == 3 else ("column A", "", "column C")
    hierarchy = audit.load_hierarchy({"ax": ["top"], "owl": ["top"], "top": []})
    read = audit.load_labels(
        written(tmp_path, "t.csv", table), hierarchy, id=id, label=label, strip=[r"/\(.*/"]
    )

    assert read.ledger.rows_mapped == rows
    assert any("names no columns" in reading.decision for reading in read.readings) == (rows == 4)


@pytest.mark.parametrize(("first", "rows"), [("Well, it is so.\t2\tx01", 4), ("say\tlabel\tid", 3)])
def test_a_row_with_a_number_of_its_column_and_without_a_name_names_none(
    tmp_path: Path, first: str, rows: int
) -> None:
    table = f"{first}\nIt is not so.\t1\tx02\nIt may be so.\t2\tx03\nSo be it.\t0,2\tx04\n"
    id, label = ("column C", "column B") if rows == 4 else ("id", "label")
    read = audit.load_labels(
        written(tmp_path, "t.tsv", table),
        {"no": ["top"], "not": ["top"], "so": ["top"]},
        id=id,
        label=label,
        classes=["no", "not", "so"],
    )

    assert len(read) == rows
    assert read.ledger.rows_mapped == rows + 1
    assert any("names no columns" in reading.decision for reading in read.readings) == (rows == 4)
