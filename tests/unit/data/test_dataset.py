"""LabelDataset: every row mapped or refused, direct labels, what a frame may hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.dataset import LabelDataset, load_labels
from audit.data.mapping import REASONS
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.coded import icd9cm
from fixtures.labelled import labelled
from fixtures.written import written

LABELS = {
    "b": ["dog", "dog", "unicorn"],
    "a": ["tool", None, "cow"],
    "c": [],
    "d": ["unicorn", "griffin"],
}


def frame(*rows: tuple[str | None, ...], columns: str = "instance label") -> pl.DataFrame:
    return pl.DataFrame(rows, dict.fromkeys(columns.split(), pl.String), orient="row")


def test_every_row_is_mapped_or_refused_with_a_reason(toy_hierarchy: Hierarchy) -> None:
    ledger = labelled(toy_hierarchy, LABELS).ledger

    assert ledger.rows_read == 8
    assert ledger.rows_mapped == 4
    assert dict(ledger.refused) == {"unknown_code": 3, "missing_code": 1}
    assert (ledger.instances, ledger.instances_without_labels, ledger.groups) == (4, 2, None)


def test_reasons_of_the_ledger_are_those_the_formats_page_lists() -> None:
    assert set(REASONS) == {
        "unknown_code", "retired_code", "malformed_code", "missing_code", "no_place",
        "other_version", "no_hierarchy", "bad_row", "left_out",
    }  # fmt: skip


def test_a_repeated_label_is_two_rows_and_one_label(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)
    direct = dataset.direct.toarray()

    assert direct[1, toy_hierarchy.index("dog")] == 1
    assert direct.sum(axis=1).tolist() == [2, 1, 0, 0]
    assert len(dataset.assertions) == 4


def test_direct_is_int64_and_canonical(toy_hierarchy: Hierarchy) -> None:
    direct = labelled(toy_hierarchy, {"a": ["tool", "cow", "cow", "bird"]}).direct

    assert direct.dtype == np.int64
    assert (np.diff(direct.indices) > 0).all()


def test_instances_stand_in_code_point_order(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"é": [], "b": [], "Z": [], "10": [], "9": []})

    assert dataset.instances["instance"].to_list() == ["10", "9", "Z", "b", "é"]


def test_refusals_are_counted_by_label_with_rows_and_instances(toy_hierarchy: Hierarchy) -> None:
    refusals = labelled(toy_hierarchy, LABELS).refusals.drop("table")

    assert refusals.rows() == [
        ("missing_code", None, 1, 1),
        ("unknown_code", "griffin", 1, 1),
        ("unknown_code", "unicorn", 2, 2),
    ]


def test_groups_are_counted_once(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"a": [], "b": [], "c": []}, groups={"a": "p", "b": "p"})

    assert dataset.ledger.groups == 1


def test_a_code_below_a_known_category_grows_the_hierarchy() -> None:
    hierarchy = icd9cm()
    dataset = labelled(hierarchy, {"a": ["71860"], "b": ["4019"]}, table="diagnoses")

    assert "718.60" in dataset.hierarchy
    assert "718.60" not in hierarchy
    assert dataset.mappings.rows() == [
        ("4019", "diagnoses", "401.9", False, 1, 1),
        ("71860", "diagnoses", "718.60", True, 1, 1),
    ]
    assert dataset.ledger.rows_mapped == 2
    assert dataset.hierarchy.assignable[dataset.hierarchy.index("401.9")]


def test_icd_codes_are_persons_records(toy_hierarchy: Hierarchy) -> None:
    assert labelled(icd9cm(), {"a": ["401.9"]}).persons
    assert not labelled(toy_hierarchy, {"a": ["cow"]}).persons


def test_from_rows_takes_a_frame(toy_hierarchy: Hierarchy) -> None:
    rows = frame(
        ("x", "cow", "p"), ("x", "dog", "p"), ("y", "elf", "q"), columns="instance label group"
    )
    dataset = LabelDataset.from_rows(rows, toy_hierarchy)

    assert dataset.instances.rows() == [("x", "p", None), ("y", "q", None)]
    assert dict(dataset.ledger.refused) == {"unknown_code": 1}
    assert dataset.sources == ()


def test_from_rows_takes_an_instance_whose_labels_are_all_null_as_one_without(
    toy_hierarchy: Hierarchy,
) -> None:
    ledger = LabelDataset.from_rows(
        frame(("x", None), ("y", "cow"), ("y", None)), toy_hierarchy
    ).ledger

    assert (ledger.rows_read, ledger.rows_mapped) == (2, 1)
    assert dict(ledger.refused) == {"missing_code": 1}
    assert ledger.instances_without_labels == 1


def test_from_rows_refuses_a_row_without_an_instance(toy_hierarchy: Hierarchy) -> None:
    ledger = LabelDataset.from_rows(
        frame((None, "cow"), ("y", "cow"), (None, None)), toy_hierarchy
    ).ledger

    assert dict(ledger.refused) == {"bad_row": 2}
    assert ledger.instances == 1


def test_from_rows_needs_its_columns(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(SchemaError, match="label"):
        LabelDataset.from_rows(frame(("x",), columns="instance"), toy_hierarchy)


def test_from_rows_does_not_modify_its_frame(toy_hierarchy: Hierarchy) -> None:
    rows = frame(("x", " cow "), ("y", None))
    before = rows.clone()
    LabelDataset.from_rows(rows, toy_hierarchy)

    assert rows.equals(before)


def test_a_dataset_without_instances_is_refused(tmp_path: Path, toy_hierarchy: Hierarchy) -> None:
    path = written(tmp_path / "labels.csv", "instance,label\n")

    with pytest.raises(InputError, match="required"):
        load_labels(path, toy_hierarchy)


def test_titles_of_the_user_overrule_those_beside_the_data(tmp_path: Path) -> None:
    folder, mine = tmp_path / "mimic", tmp_path / "D_ICD_PROCEDURES.csv"
    folder.mkdir()
    procedures = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,7,70,1,3681\n"
    (folder / "PROCEDURES_ICD.csv").write_text(procedures)
    for path, title in ((folder / mine.name, "theirs"), (mine, "mine")):
        path.write_text(f"ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n1,3681,short,{title}\n")
    without, given = (load_labels(folder, "icd9cm", titles=own) for own in ([], [mine]))

    assert without.hierarchy.titles[without.hierarchy.index("36.81")] == "theirs"
    assert given.hierarchy.titles[given.hierarchy.index("36.81")] == "mine"


def test_a_dataset_shows_itself(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)

    assert repr(dataset) == "LabelDataset(4 instances, 4 of 8 rows mapped to toy)"
