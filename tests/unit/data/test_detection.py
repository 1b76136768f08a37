"""The format of a dataset is found, or what could be meant is told."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from audit.base.errors import FormatError, InputError
from audit.data.formats import FORMATS, is_of, read_labels
from audit.data.label_format import Columns
from audit.data.sources import source_of
from fixtures.broken import Trap
from fixtures.label_files import WRITERS, LabelWriter, Record
from fixtures.written import written

RECORDS = (Record("100001", ("0380", "V3000"), "7"), Record("100002", ("4019",), "7"))


def write(format: str, path: Path) -> None:
    next(writer for writer in WRITERS if writer.format == format).write(RECORDS, path)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: f"{writer.format}-{writer.file}")
def test_a_written_file_is_of_exactly_its_format(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    assert [known.name for known in FORMATS if is_of(known, source_of(path))] == [writer.format]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: f"{writer.format}-{writer.file}")
def test_a_long_file_is_found_by_its_beginning(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    many = [Record(str(100_000 + n), ("0380", "é"), "7") for n in range(20_000)]
    writer.write(many, path)
    assert read_labels(path, writer.columns).format == writer.format


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.csv", "child,parent\na,b\n"),
        ("edges.tsv", "child\tparent\na\tb\n"),
        ("codes", "001-139.99\tInfectious diseases\n001\tCholera\n"),
        ("terms.obo", "format-version: 1.2\n\n[Term]\nid: GO:1\n"),
        ("tree.json", '[{"id": "a", "child_ids": []}]'),
        ("paths.txt", "rec.sport.hockey\nrec.autos\n"),
        ("README.md", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        ("D_ICD_DIAGNOSES.csv", "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n1,0380,a,b\n"),
        ("PATIENTS.csv", "ROW_ID,SUBJECT_ID,GENDER,DOB,EXPIRE_FLAG\n1,2,F,2094-03-05,1\n"),
    ],
)
def test_what_holds_no_labels_is_not_taken_for_labels(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(FormatError, match="none that matches") as caught:
        read_labels(path, Columns())
    listed = all(f"\n  {known.name}: {known.title}" in str(caught.value) for known in FORMATS)
    assert listed or "perhaps: --id" in str(caught.value)


def test_two_formats_are_listed_with_what_tells_them_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "labels.csv", "hadm_id,label,labels\n1,a,b;c\n")
    with pytest.raises(FormatError, match="Found: caml, long\n") as caught:
        read_labels(path, Columns())
    told = {known.name for known in FORMATS if known.title in caught.value.hint}
    assert told == {"caml", "long"}
    assert read_labels(path, Columns(), "long").rows["label"].to_list() == ["a"]
    assert read_labels(path, Columns(), "caml").rows["label"].to_list() == ["b", "c"]


def test_tables_of_both_mimics_in_a_folder(tmp_path: Path) -> None:
    write("mimic3", tmp_path)
    write("mimic4", tmp_path)
    with pytest.raises(FormatError, match="Found: mimic3, mimic4"):
        read_labels(tmp_path, Columns())
    assert read_labels(tmp_path, Columns(), "mimic3").format == "mimic3"


def test_two_datasets_in_a_folder(tmp_path: Path) -> None:
    write("jsonl", tmp_path / "labels.jsonl")
    write("psv", tmp_path / "preds.psv")
    write("mimic3", tmp_path / "release")
    (tmp_path / "cut.csv.gz").write_bytes(b"")
    found = r"Found: labels.jsonl \(jsonl\), preds.psv \(psv\), release \(mimic3\)\n"
    with pytest.raises(FormatError, match=found + "Hint: give one of these"):
        read_labels(tmp_path, Columns())


def test_a_table_of_mimic_and_another_dataset_in_a_folder(tmp_path: Path) -> None:
    write("mimic3", tmp_path)
    write("jsonl", tmp_path / "labels.jsonl")
    with pytest.raises(FormatError, match=r"Found: mimic3, labels.jsonl \(jsonl\)"):
        read_labels(tmp_path, Columns())
    assert read_labels(tmp_path, Columns(), "mimic3").instances.height == 2


def test_what_is_no_dataset_may_lie_in_the_folder(tmp_path: Path) -> None:
    write("mimic3", tmp_path)
    (tmp_path / "LICENSE.txt").write_text("Open Database License\n\n1. Definitions | Terms\n")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    assert read_labels(tmp_path, Columns()).format == "mimic3"
    assert not (tmp_path / "sprung").exists()


def test_an_empty_table_in_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "DIAGNOSES_ICD.csv.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"DIAGNOSES_ICD.csv.gz.*\nFound: a file of 0 bytes"):
        read_labels(tmp_path, Columns())


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing there"):
        read_labels(tmp_path / "none.csv", Columns())


def test_a_format_that_does_not_exist(tmp_path: Path) -> None:
    write("long", tmp_path / "labels.csv")
    with pytest.raises(FormatError, match=r"Found: none named 'lng'(.|\n)*\n  long: "):
        read_labels(tmp_path / "labels.csv", Columns(), "lng")


@pytest.mark.parametrize("name", ["labels.pkl", "labels.pt", "labels.jsonl", "labels.csv"])
@pytest.mark.parametrize("format", [None, "jsonl", "long"])
def test_a_pickle_is_refused_and_never_read(tmp_path: Path, name: str, format: str | None) -> None:
    path = written(tmp_path / name, pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(InputError, match="a file of pickled objects, which could run code"):
        read_labels(path, Columns(), format)
    assert not (tmp_path / "sprung").exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / "sprung").exists()


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
@pytest.mark.parametrize(
    "name",
    [
        "audioset/ontology.json",
        "go-slim/goslim_generic.obo",
        "icd9cm/ICD9_descriptions",
        "icd9cm/cms_v32.zip",
        "softmax/cifar10_edges.csv",
        "softmax/20news_classes.txt",
        "softmax/cifar10_test_probabilities.npy",
    ],
)
def test_real_files_that_hold_no_labels(name: str) -> None:
    with pytest.raises(InputError, match=r"none that matches|an archive of zip"):
        read_labels(Path(os.environ["AUDIT_DATA"]) / name, Columns())
