"""Pictures, sounds and tasks of annotators in their publishers' files, against plain Python."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import AuditError, InputError
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset
from audit.runs.settings import Settings

OPEN = {"LabelName": "/m/0bl9f", "Subcategory": [
    {"LabelName": "/m/0242l"},
    {"LabelName": "/m/0jbk",
     "Subcategory": [{"LabelName": "/m/01yrx"}, {"LabelName": "/m/0bt9lr"}]},
]}  # fmt: skip
VERIFIED = "ImageID,Source,LabelName,Confidence\n" + "".join(
    f"{image},verification,{label},{sure}\n"
    for image, label, sure in (
        ("a", "/m/01yrx", 1), ("a", "/m/0bt9lr", 0), ("b", "/m/0bt9lr", 1), ("c", "/m/0242l", 0))
)  # fmt: skip


def taxonomy(*ways: list[str]) -> dict[str, Any]:
    return {"type": "taxonomy", "from_name": "t", "to_name": "x", "value": {"taxonomy": [*ways]}}


def task(number: int, *annotations: tuple[int, list[dict[str, Any]], bool]) -> dict[str, Any]:
    listed = [
        {"id": 10 * number + n, "completed_by": by, "result": result, "was_cancelled": left}
        for n, (by, result, left) in enumerate(annotations)
    ]
    return {"id": number, "data": {"text": "..."}, "annotations": listed, "predictions": []}


CHOSEN = {"type": "choices", "value": {"choices": ["Plant"]}}
RATED = {"type": "rating", "value": {"rating": 3}}
TASKS = [
    task(1, (7, [taxonomy(["Animal", "Dog"], ["Animal"]), RATED], False)),
    task(2, (8, [CHOSEN], False)), task(3, (8, [taxonomy(["Animal", "Cat"])], True)),
]  # fmt: skip

PLACES: dict[str, Any] = {"Animal": {"Animal > Dog": {}, "Animal > Cat": {}}, "Plant": {}}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def labels(read: LabelDataset) -> set[tuple[str, str]]:
    ids, nodes = read.instances["instance"].to_list(), read.hierarchy.nodes
    return {(ids[row], nodes[node]) for row, node in zip(*read.direct.nonzero(), strict=True)}


def edges(hierarchy: audit.Hierarchy) -> set[tuple[str, str]]:
    return {edge for edge in hierarchy.edge_frame().iter_rows() if edge[1] != SYNTHETIC_ROOT}


def test_labels_verified_not_to_hold_are_left_out_and_counted(tmp_path: Path) -> None:
    hierarchy = audit.load_hierarchy(written(tmp_path, "h.json", OPEN))
    path = written(tmp_path, "labels.csv", VERIFIED)

    assert edges(hierarchy) == {("/m/0242l", "/m/0bl9f"), ("/m/0jbk", "/m/0bl9f"),
                                ("/m/01yrx", "/m/0jbk"), ("/m/0bt9lr", "/m/0jbk")}  # fmt: skip
    for read in (audit.load_labels(path, hierarchy), count_pairs(path, hierarchy, batch=2)):
        assert read.ledger.refused == {"left_out": 2}
        assert read.ledger.rows_mapped == 2
    assert audit.load_labels(path, hierarchy, where=["Confidence=*"]).ledger.rows_mapped == 4


def test_paths_of_a_taxonomy_are_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "export.json", TASKS)
    read = audit.load_labels(path, PLACES, strata=["annotator"])

    assert read.instances.select("instance", "annotator").rows() == [("1", "7"), ("2", "8")]
    assert labels(read) == {("1", "Animal > Dog"), ("1", "Animal"), ("2", "Plant")}
    assert any("cancelled" in one.decision for one in read.readings)


def test_data_that_hold_a_hierarchy_need_none(tmp_path: Path) -> None:
    path = written(tmp_path, "own.json", BOX)
    assert Settings(dataset=str(path)) == Settings(dataset=str(path), hierarchy=str(path))
    assert Settings(dataset=str(path), hierarchy="icd9cm").hierarchy == "icd9cm"
    for dataset in (written(tmp_path, "a.csv", VERIFIED), tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="a hierarchy is required"):
            Settings(dataset=str(dataset))


def test_of_tasks_annotated_several_times_either_may_be_the_instance(tmp_path: Path) -> None:
    twice = task(4, (7, [CHOSEN], False), (8, [taxonomy(["Animal"])], False))
    path = written(tmp_path, "export.json", [*TASKS, twice])

    assert len(audit.load_labels(path, PLACES, id="task")) == 3
    alone = audit.load_labels(path, PLACES, id="annotation", group="task")
    assert len(alone) == 4
    assert alone.instances["group"].n_unique() == 3


def test_clips_go_by_their_names_and_labels_by_what_are_nodes(tmp_path: Path) -> None:
    text = 'fname,labels,mids,split\n64760,"Guitar,Music","/m/1,/m/2",train\n12,Speech,/m/3,val\n'
    path = written(tmp_path, "dev.csv", text)

    mids = audit.load_labels(path, {"/m/2": {"/m/1": {}}, "/m/3": {}}, split="split")
    names = audit.load_labels(path, {"Music": {"Guitar": {}}, "Speech": {}})
    for read in (mids, names):
        assert sorted(read.instances["instance"]) == ["12", "64760"]
        assert (read.ledger.rows_mapped, read.ledger.refused) == (3, {})


def of_hub(path: Path, classes: list[int | None], names: tuple[str, ...] = ("cat", "dog")) -> None:
    feature = {"label": {"names": names, "_type": "ClassLabel"}}
    table = pa.table({"image": [{"bytes": b"x"}] * len(classes), "label": classes})
    said = json.dumps({"info": {"features": feature}})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"huggingface": said}), path)


def test_a_folder_of_the_hub_has_its_splits(tmp_path: Path) -> None:
    for split, classes in (("train", [0, 1, -1]), ("test", [1])):
        of_hub(tmp_path / "data" / f"{split}-00000-of-00001.parquet", [*classes])
    (tmp_path / "README.md").write_text("---\n")
    for folder in (tmp_path, tmp_path / "data"):
        read = audit.load_labels(folder, {"pet": {"cat": {}, "dog": {}}}, split="split")
        assert labels(read) == {("train/0", "cat"), ("train/1", "dog"), ("test/0", "dog")}
        assert read.instances["split"].to_list().count("train") == 3
    of_hub(tmp_path / "other" / "train-00000-of-00001.parquet", [0])
    with pytest.raises(AuditError, match="one configuration"):
        audit.load_labels(tmp_path, {"pet": {"cat": {}}})
    of_hub(tmp_path / "data" / "test-00000-of-00001.parquet", [1], ("dog", "cat"))
    with pytest.raises(AuditError, match="name classes alike"):
        audit.load_labels(tmp_path / "data", {"pet": {"cat": {}}})


@pytest.mark.parametrize("splits", [("",), ("train", "test")])
def test_media_in_folders_have_these_for_labels(splits: tuple[str, ...], tmp_path: Path) -> None:
    files = [Path(split, kind, f"{kind}.jpg") for split in splits for kind in ("cat", "dog")]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_bytes(b"x")
    (tmp_path / "README.md").write_text("...")
    read = audit.load_labels(tmp_path, {"pet": {"cat": {}, "dog": {}}})
    assert labels(read) == {(str(file), file.parts[-2]) for file in files}
    (tmp_path / files[0]).with_suffix(".csv").write_text("a,b\n")
    with pytest.raises(AuditError):
        audit.load_labels(tmp_path, {"pet": {"cat": {}, "dog": {}}})


BOX = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}]}
BROKEN: dict[str, tuple[Any, str]] = {
    "no annotations": (BOX, "COCO with annotations"),
    "empty annotations": ({**BOX, "annotations": []}, "COCO with annotations"),
    "captions": ({**BOX, "annotations": [{"id": 5, "image_id": 1, "caption": "A cat"}]},
                 "category_id"),
    "another image": ({**BOX, "annotations": [{"id": 5, "image_id": 2, "category_id": 1}]},
                      "image_id of an image"),
    "ratings": ([task(1, (1, [RATED], False))], "choices, labels or taxonomies"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=[*BROKEN])
def test_what_has_no_labels_is_refused(content: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", content)

    with pytest.raises(AuditError, match=said) as caught:
        audit.load_labels(path, {"animal": {"cat": {}}})
    assert caught.value.exit_status == 2
    assert str(path) in str(caught.value)


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
def test_real_pictures_have_the_labels_of_their_boxes() -> None:
    path = Path(os.environ["AUDIT_DATA"]) / "coco" / "taco_annotations.json"
    held = json.loads(path.read_text("utf-8"))
    names = {one["id"]: one["name"] for one in held["categories"]}
    own = defaultdict[str, set[str]](set)
    for box in held["annotations"]:
        own[str(box["image_id"])].add(names[box["category_id"]])
    read = audit.load_labels(path, path)

    assert labels(read) == {(image, label) for image, some in own.items() for label in some}
    assert len(read) == len(held["images"])
