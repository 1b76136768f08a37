"""Ids that nobody wrote, joined cells, and numbers of classes: certain, or told, or asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
from audit.base.errors import AuditError, InputError, SchemaError
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset

TREE = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
CLASSES = [*TREE]


def labels_of(dataset: LabelDataset) -> dict[str, set[str]]:
    nodes = [dataset.hierarchy.nodes[node] for node in dataset.assertions["node"]]
    found: dict[str, set[str]] = {one: set() for one in dataset.instances["instance"]}
    for instance, node in zip(dataset.assertions["instance"], nodes, strict=True):
        found[dataset.instances["instance"][instance]].add(node)
    return found


WANTED = {"0": {"dog", "cat"}, "1": set[str](), "2": {"oak"}, "3": {"dog", "cat"}}
FLAGS = {"dog": [1, 0, 0, 1], "cat": [1, 0, 0, 1], "oak": [0, 0, 1, 0], "rose": [0] * 4}
JOINED, SITES = ["dog;cat", "", "oak", "dog;cat"], list("aabb")
LISTS = [cell.split(";") if cell else [] for cell in JOINED]
SEVERAL = {"label1": ["dog", "", "oak", "dog"], "label2": ["cat", "", "", "cat"]}
WITHOUT_IDS: dict[str, Callable[[Path], None]] = {
    "wide.csv": lambda path: pl.DataFrame(FLAGS).write_csv(path),
    "wide.parquet": lambda path: pl.DataFrame(FLAGS).write_parquet(path),
    "joined.csv": lambda path: pl.DataFrame({"labels": JOINED, "cat": SITES}).write_csv(path),
    "repeated.csv": lambda path: pl.DataFrame({"site": SITES, "labels": JOINED}).write_csv(path),
    "lists.parquet": lambda path: pl.DataFrame({"labels": LISTS}).write_parquet(path),
    "lines.jsonl": lambda path: pl.DataFrame({"site": SITES, "labels": LISTS}).write_ndjson(path),
    "several.csv": lambda path: pl.DataFrame({"site": SITES, **SEVERAL}).write_csv(path),
}


@pytest.mark.parametrize("name", WITHOUT_IDS)
def test_rows_are_numbered_where_nobody_wrote_ids(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WITHOUT_IDS[name](path)
    dataset = audit.load_labels(path, TREE)
    assert labels_of(dataset) == WANTED
    (told,) = [one for one in dataset.readings if one.option == "--id COLUMN"]
    assert (told.decision, told.rows) == ("rows are instances, numbered from 0", 4)
    if not name.startswith("wide"):
        assert told in count_pairs(path, audit.load_hierarchy(TREE)).labels.readings
    if "site" in path.read_bytes().decode("latin-1"):
        assert len(audit.load_labels(path, TREE, id="site")) == 2


def test_a_column_named_as_a_node_is_no_id_of_a_long_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("dog,label\n1,cat\n2,oak\n")
    with pytest.raises(InputError, match="hold the id"):
        audit.load_labels(tmp_path / "a.csv", TREE)
    assert len(audit.load_labels(tmp_path / "a.csv", TREE, id="dog")) == 2


PANDAS_INDEX = {
    "names": (["img_7", "img_9"], ["img_7", "img_9"]),
    "numbers with gaps": ([3, 5], ["3", "5"]),
    "rows": ([0, 1], ["0", "1"]),
}


@pytest.mark.parametrize(("index", "ids"), PANDAS_INDEX.values(), ids=PANDAS_INDEX)
@pytest.mark.parametrize("name", [None, "image"])
def test_an_index_is_an_id_where_somebody_wrote_it(
    index: list[Any], ids: list[str], name: str | None
) -> None:
    pandas = pytest.importorskip("pandas")
    written = pandas.Index(index, name=name)
    series = pandas.Series(["dog", "cat"], index=written)
    flags = pandas.DataFrame({"dog": [1, 0], "cat": [0, 1]}, index=written)
    found: list[set[str]] = [{"dog"}, {"cat"}]
    for data in (series, flags):
        assert labels_of(audit.load_labels(data, TREE)) == dict(zip(ids, found, strict=True))
    kept = pandas.DataFrame({"image": ["a", "a"], "label": ["dog", "cat"]}, index=index)
    assert labels_of(audit.load_labels(kept, TREE)) == {"a": {"dog", "cat"}}


def test_an_index_that_repeats_is_asked() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="numbers the entries"):
        audit.load_labels(pandas.Series(["dog", "cat"], index=["a", "a"]), TREE)


def test_ids_that_became_decimals_are_whole_numbers_by_every_door(tmp_path: Path) -> None:
    rows = {"hadm_id": [1000.0, None, 1001.0, float("nan")], "label": ["dog", "cat", "oak", "dog"]}
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.fill_nan(None).write_csv(tmp_path / "a.csv")
    for data in (frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        dataset = audit.load_labels(data, TREE)
        assert labels_of(dataset) == {"1000": {"dog"}, "1001": {"oak"}}
        assert dataset.ledger.refused == {"bad_row": 2}
    for lost in (1000.5, 2.0**53):
        with pytest.raises(SchemaError, match="text or whole numbers"):
            audit.load_labels({"id": [lost, 1.0], "label": ["dog", "cat"]}, TREE)


# --- numbers of classes -----------------------------------------------------------------------

NUMBERS = [[0, 1], [], [2], [0, 1]]
LABEL = {"names": CLASSES, "_type": "ClassLabel"}


def on_the_hub(folder: Path, features: dict[str, Any], **columns: list[Any]) -> Path:
    table = pa.table(columns)
    said = json.dumps({"info": {"features": features}})
    path = folder / "train-00000-of-00001.parquet"
    pq.write_table(table.replace_schema_metadata({"huggingface": said}), path)
    return path


@pytest.mark.parametrize(
    "feature", [*({"feature": LABEL, "_type": kind} for kind in ("Sequence", "List")), [LABEL]]
)
def test_names_of_class_numbers_are_those_of_the_metadata(feature: Any, tmp_path: Path) -> None:
    path = on_the_hub(tmp_path, {"labels": feature}, id=list("0123"), labels=NUMBERS)
    assert labels_of(audit.load_labels(path, TREE)) == WANTED
    assert labels_of(audit.load_labels(tmp_path, TREE)) == WANTED
    count = count_pairs(path, audit.load_hierarchy(TREE))
    assert count.ledger.rows_mapped == 5
    turned = audit.load_labels(path, TREE, classes=CLASSES[::-1])
    assert labels_of(turned)["2"] == {"cat"}


def test_one_class_a_row_and_none(tmp_path: Path) -> None:
    path = on_the_hub(tmp_path, {"label": LABEL}, text=["a", "b", "c"], label=[3, -1, 9])
    dataset = audit.load_labels(path, TREE)
    assert dataset.ledger.refused == {"missing_code": 1, "unknown_code": 1}


OF_NUMBERS = {"id": list("0123"), "labels": NUMBERS}
NUMBERED: dict[str, Callable[[Path], None]] = {
    "a.parquet": lambda path: pl.DataFrame(OF_NUMBERS).write_parquet(path),
    "a.jsonl": lambda path: pl.DataFrame(OF_NUMBERS).write_ndjson(path),
    "a.csv": lambda path: path.write_text("id,labels\n0,0;1\n1,\n2,2\n3,0;1\n") and None,
}


@pytest.mark.parametrize("name", NUMBERED)
def test_names_of_class_numbers_are_those_of_the_user(name: str, tmp_path: Path) -> None:
    path, classes = tmp_path / name, tmp_path / "classes.txt"
    NUMBERED[name](path)
    classes.write_text("\n".join(CLASSES))
    dataset = audit.load_labels(path, TREE, classes=classes)
    assert labels_of(dataset) == WANTED
    assert classes in dataset.sources
    with pytest.raises(SchemaError, match="from 0 to 1"):
        audit.load_labels(path, TREE, classes=CLASSES[:2])


def test_numbers_in_a_frame_are_labels_where_classes_are_named() -> None:
    rows = {"id": ["0", "1"], "label": [2, 0]}
    assert labels_of(audit.load_labels(rows, TREE, classes=CLASSES)) == {"0": {"oak"}, "1": {"dog"}}
    assert labels_of(audit.load_labels(np.array([2, 0]), TREE, classes=CLASSES))["0"] == {"oak"}
    with pytest.raises(AuditError, match="lost leading zeros"):
        audit.load_labels(rows, TREE)


def test_classes_without_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("\n".join(CLASSES))
    for classes in (CLASSES, tmp_path / "classes.txt", f"{tmp_path}/classes.txt"):
        with pytest.raises(InputError, match="numbers of classes, or columns without names, are"):
            audit.load_labels({"id": ["0"], "label": ["dog"]}, TREE, classes=classes)


@pytest.mark.parametrize(
    "numbered", [{"prediction": [2, 0]}, {"LABEL_0": [0.1, 0.9], "LABEL_2": [0.9, 0.1]}]
)
def test_predicted_numbers_have_the_names_in_the_metadata_of_labels(
    numbered: dict[str, Any], tmp_path: Path
) -> None:
    path = on_the_hub(tmp_path, {"label": LABEL}, id=["0", "1"], label=[2, 0])
    found = audit.load_predictions(numbered, dataset := audit.load_labels(path, TREE))
    (stated,) = [told for told in found.readings if told.option == "--classes FILE"]
    turned = audit.load_predictions(numbered, dataset, classes=CLASSES[::-1])
    best = [
        [one.hierarchy.nodes[n] for n in one.scores.toarray().argmax(1)] for one in (found, turned)
    ]
    assert best == [["oak", "dog"], ["cat", "rose"]]
    assert stated.rows == 2
    assert stated not in turned.readings
    with pytest.raises(SchemaError, match=r"--classes FILE names|named by classes="):
        audit.load_predictions(numbered, audit.load_labels(["oak", "dog"], TREE))


# --- joined cells -----------------------------------------------------------------------------

ONTOLOGY = [
    {"id": "/m/1", "name": "Human voice", "child_ids": ["/m/2"]},
    {"id": "/m/2", "name": "Speech, whispered", "child_ids": []},
]


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        (["/m/1,/m/2", "/m/2", "/m/1"], 4),
        (["Human_voice,/m/2", "/m/2"], 3),
        (["Speech, whispered", "Human voice"], 2),
        (["/m/1 /m/2", ""], 2),
    ],
)
def test_cells_are_split_where_their_parts_are_nodes(
    cells: list[str], rows: int, tmp_path: Path
) -> None:
    (tmp_path / "o.json").write_text(json.dumps(ONTOLOGY))
    path = tmp_path / "a.csv"
    pl.DataFrame({"id": [f"x{n}" for n in range(len(cells))], "mine": cells}).write_csv(path)
    hierarchy = audit.load_hierarchy(tmp_path / "o.json")
    dataset = audit.load_labels(path, hierarchy, label="mine")
    assert dataset.ledger.rows_read == rows
    count = count_pairs(path, hierarchy, label="mine")
    assert (count.ledger.rows_read, count.labels.readings) == (rows, dataset.readings)
    for told in dataset.readings:
        if told.option == "--codes as-written":
            continue
        assert told.option == "--format long"
        whole = audit.load_labels(path, hierarchy, label="mine", format="long")
        assert whole.ledger.rows_read == len(cells)
        counted = count_pairs(path, hierarchy, label="mine", format="long")
        assert told not in (*whole.readings, *counted.labels.readings)


def test_a_decimal_comma_joins_no_codes() -> None:
    rows = {"id": ["a", "b"], "label": ["E11,9", "I50,0"]}
    assert audit.load_labels(rows, "icd10cm").ledger.rows_read == 2
