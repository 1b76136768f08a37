"""JSON as people have it: records in an object around them, and labels in nested objects."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.base.errors import FormatError, InputError, SchemaError
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset
from audit.data.json_lines import is_document
from audit.data.sources import source_of

TREE = {"dog": "animal", "cat": "animal", "oak": "plant"}
RECORDS = [
    {"pmid": "1", "words": ["dog", "oak"], "of": ["x"]},
    {"pmid": "2", "words": ["cat"], "of": []},
    {"pmid": "3", "words": ["none", "cat"], "of": None},
]
CODINGS = [
    ("a", "p", [("s1", "dog"), ("s2", "cat")], "active"),
    ("a", "p", [("s1", "oak")], "active"),
    ("b", "q", [("s1", "cat"), ("s1", "dog")], "refuted"),
    ("c", "q", [], "active"),
]
NESTED = [
    {
        "id": f"c{number}",
        "encounter": {"reference": stay},
        "subject": {"reference": person},
        "code": {"coding": [{"system": system, "code": code} for system, code in codings]},
        "state": {"coding": [{"code": state}, {"code": state}]},
    }
    for number, (stay, person, codings, state) in enumerate(CODINGS)
]


def written(folder: Path, content: Any, name: str = "a.json", **how: Any) -> Path:
    path = folder / name
    lines = name.endswith("jsonl")
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content, **how))
    return path


def labels_of(read: LabelDataset) -> list[tuple[str, str]]:
    ids, nodes = read.instances["instance"].to_list(), read.hierarchy.nodes
    rows = read.assertions.select("instance", "node").iter_rows()
    return sorted((ids[instance], nodes[node]) for instance, node in rows)


@pytest.mark.parametrize(
    "content",
    [
        RECORDS,
        {"articles": RECORDS},
        {"version": 2, "note": 'a "[{" b', "info": {"by": ["x"]}, "items": RECORDS, "end": []},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_records_are_the_only_list_of_objects(
    content: Any, indent: int | None, tmp_path: Path
) -> None:
    path = written(tmp_path, content, indent=indent)
    read = audit.load_labels(path, TREE, id="pmid")
    assert labels_of(read) == [("1", "dog"), ("1", "oak"), ("2", "cat"), ("3", "cat")]
    (told,) = (one for one in read.readings if one.option == "--label KEY")
    assert ("'words'" in told.decision, told.rows) == (True, 3)
    counted = count_pairs(path, audit.load_hierarchy(TREE), instance="pmid", batch=1, sort=True)
    assert counted.labels.readings == read.readings
    other = audit.load_labels(path, TREE, id="pmid", label="of")
    assert other.ledger.refused == {"unknown_code": 1}


def test_of_several_lists_of_objects_one_is_taken_out_by_the_hint(tmp_path: Path) -> None:
    path = written(tmp_path, {"words": RECORDS, "others": [{"id": 1}]})
    with pytest.raises(SchemaError, match="'words', 'others'") as caught:
        audit.load_labels(path, TREE, id="pmid", label="words")
    command = caught.value.hint.removesuffix(" takes one out").replace("FILE", path.name)
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert len(audit.load_labels(tmp_path / "words.jsonl", TREE, id="pmid", label="words")) == 3


@pytest.mark.parametrize("cut", [1, 30, 120])
def test_a_broken_object_around_records_is_refused(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path, {"articles": RECORDS})
    path.write_text(path.read_text()[:-cut])
    with pytest.raises(InputError):
        audit.load_labels(path, TREE, id="pmid", label="words")


@pytest.mark.parametrize("lines", [1, 2])
def test_an_object_behind_another_makes_lines_of_a_document(lines: int, tmp_path: Path) -> None:
    (path := tmp_path / "a.json").write_text('{"id": "a", "terms": [{"of": "x"}]}\n' * lines)
    assert is_document(source_of(path)) is (lines == 1)


def test_an_object_of_labels_is_a_record_whatever_lists_it_has(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": 1, "labels": ["dog"], "spans": [{"a": 1}]})
    assert labels_of(audit.load_labels(path, TREE)) == [("1", "dog")]


def test_labels_in_nested_objects_go_by_dotted_keys(tmp_path: Path) -> None:
    path = written(tmp_path, NESTED, "a.jsonl")
    named = {"id": "encounter.reference", "group": "subject.reference", "label": "code.coding.code"}
    every = [("a", "cat"), ("a", "dog"), ("a", "oak"), ("b", "cat"), ("b", "dog")]
    for data in (path, written(tmp_path, NESTED), written(tmp_path, {"entry": NESTED}, "b.json")):
        read = audit.load_labels(data, TREE, **named)  # type: ignore[arg-type]
        assert labels_of(read) == every
        assert read.instances["group"].to_list() == ["p", "q", "q"]
        assert read.sources == (data,)
    where = ["code.coding.system=s1", "state.coding.code!=refuted"]
    read = audit.load_labels(path, TREE, **named, where=where)  # type: ignore[arg-type]
    assert labels_of(read) == [("a", "dog"), ("a", "oak")]


@pytest.mark.parametrize("label", [None, "code", "code.coding"])
def test_the_dotted_keys_of_nested_objects_are_taken_and_told(
    label: str | None, tmp_path: Path
) -> None:
    path = written(tmp_path, NESTED, "a.jsonl")
    dataset = audit.load_labels(path, TREE, label=label)
    said = [one.decision for one in dataset.readings if one.option.endswith("COLUMN")]
    assert [one.split("'")[1] for one in said][:2] == ["code.coding.code", "encounter.reference"]
    with pytest.raises(SchemaError, match=r"named 'code\.coding\.none'"):
        audit.load_labels(path, TREE, id="encounter.reference", label="code.coding.none")
    with pytest.raises(InputError, match="not held in memory"):
        count_pairs(path, audit.load_hierarchy(TREE), label="code.coding.code")


def test_text_that_is_called_bin_is_no_pickle(tmp_path: Path) -> None:
    path = tmp_path / "h.bin"
    path.write_text("Animals > Dogs\nAnimals > Cats\n")
    with pytest.raises(FormatError, match="none that matches"):
        audit.load_labels(path, TREE)
    assert audit.load_hierarchy(path).parents("Animals > Dogs") == ("Animals",)
    pickles = [pickle.dumps([*range(99), "a"], n) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    for content in (*pickles, b"\x00\x01\xff"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="pickled objects"):
            audit.load_hierarchy(path)


def test_a_plain_value_where_other_lines_hold_an_object_is_a_label(tmp_path: Path) -> None:
    topics = [{"choices": ["dog", "oak"]}, "dog", None, {"choices": ["cat"]}]
    path = written(tmp_path, [{"id": n, "topic": topic} for n, topic in enumerate(topics)])
    read = audit.load_labels(path, TREE, label="topic.choices", id="id")

    assert labels_of(read) == [("0", "dog"), ("0", "oak"), ("1", "dog"), ("3", "cat")]
    assert read.instances["instance"].to_list() == ["0", "1", "2", "3"]
