"""Any scores, in any shape and under any names of columns, are read back as they were, or asked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures.examples import examples

NODES = ("cat", "dog", "oak", "elm tree", "7", "12", "score", "id", "A.b")
"""Names of classes, among them numbers and names of columns."""
NAMES = st.one_of(
    st.sampled_from(["id", "label", "score", "pred", "prob", "rank", "cat", "7", "image", "node"]),
    st.text("abcXYZ_ 01.", min_size=1, max_size=6).map(str.strip).filter(bool),
)
IDS = st.one_of(
    st.integers(0, 40).map(str), st.text("abcde", min_size=1, max_size=4), st.sampled_from(NODES)
)
Cells = Mapping[tuple[str, str], float]


@st.composite
def scored(draw: st.DrawFn) -> tuple[list[str], list[str], np.ndarray]:
    """Ids, classes and scores of a model, in thousandths."""
    ids = draw(st.lists(IDS, min_size=2, max_size=8, unique=True))
    classes = draw(st.lists(st.sampled_from(NODES), min_size=2, max_size=5, unique=True))
    thousandths = st.lists(st.integers(0, 1000), min_size=len(classes), max_size=len(classes))
    rows = draw(st.lists(thousandths, min_size=len(ids), max_size=len(ids)))
    return ids, classes, np.array(rows) / 1000


@st.composite
def beside(draw: st.DrawFn, rows: int, taken: list[str]) -> dict[str, list[Any]]:
    """Further columns of a table: texts, whole numbers, flags, numbers."""
    kinds = (
        st.text("xyz", max_size=3), st.integers(0, 9), st.integers(0, 1), st.floats(-3, 3),
        st.sampled_from(NODES),
    )  # fmt: skip
    free = NAMES.filter(lambda one: one not in (*taken, "score", "id", "instance"))
    names = draw(st.lists(free, max_size=2, unique=True))
    cells = [draw(st.sampled_from(kinds)) for _ in names]
    return {
        name: draw(st.lists(kind, min_size=rows, max_size=rows))
        for name, kind in zip(names, cells, strict=True)
    }


def written(columns: Mapping[str, list[Any]], path: Path) -> Path:
    """A CSV file of some columns."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path.write_text(text.getvalue(), "utf-8")
    return path


TREE = audit.Hierarchy.build(
    pl.DataFrame({"child": NODES, "parent": ["all"] * len(NODES)}),
    pl.DataFrame({"node": ["all", *NODES], "title": "", "assignable": True}),
    name="any",
)


def labelled(ids: list[str]) -> audit.LabelDataset:
    labels = {"id": ids, "label": [NODES[n % len(NODES)] for n in range(len(ids))]}
    return audit.load_labels(labels, TREE, id="id", label="label")


def cells_of(path: Any, dataset: audit.LabelDataset, **options: Any) -> Cells | None:
    """Scores above 0 by id and node; None where it is asked, or refused."""
    try:
        read = audit.load_predictions(path, dataset, single_label=False, **options)
    except audit.AuditError:
        return None
    found = read.scores.tocoo()
    assert not read.set_valued or {*found.data} <= {1.0}
    return {
        (read.instances[i], read.hierarchy.nodes[j]): float(value)
        for i, j, value in zip(*found.coords, found.data, strict=True)
    }


def expected(ids: list[str], classes: list[str], scores: np.ndarray) -> Cells:
    return {(ids[i], classes[j]): float(scores[i, j]) for i, j in np.argwhere(scores > 0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shapes")


def ids_first(names: list[str]) -> list[str]:
    """Names of which one that says that it is the id is that of the ids."""
    return sorted(names, key=lambda one: one.strip().casefold() not in ("id", "instance"))


@given(drawn=scored(), data=st.data())
@examples(150)
def test_a_column_a_class(drawn: Any, data: st.DataObject, folder: Path) -> None:
    ids, classes, scores = drawn
    name = data.draw(NAMES.filter(lambda one: one not in classes))
    order = data.draw(st.permutations(range(len(ids))))
    further = data.draw(beside(len(ids), [name, *NODES]))
    columns = {name: [ids[n] for n in order], **further}
    columns |= {one: [scores[n, at] for n in order] for at, one in enumerate(classes)}
    found = cells_of(written(columns, folder / "wide.csv"), labelled(ids))
    assert found in (None, expected(ids, classes, scores))


@given(drawn=scored(), data=st.data())
@examples(150)
def test_a_row_a_score(drawn: Any, data: st.DataObject, folder: Path) -> None:
    ids, classes, scores = drawn
    names = data.draw(st.lists(NAMES, min_size=3, max_size=3, unique=True).map(ids_first))
    pairs = data.draw(st.permutations([(i, j) for i, j in np.ndindex(scores.shape)]))
    further = data.draw(beside(len(pairs), names))
    columns = {
        names[0]: [ids[i] for i, _ in pairs],
        **further,
        names[1]: [classes[j] for _, j in pairs],
        names[2]: [scores[i, j] for i, j in pairs],
    }
    found = cells_of(written(columns, folder / "long.csv"), labelled(ids))
    assert found in (None, expected(ids, classes, scores))


@given(drawn=scored(), data=st.data())
@examples(100)
def test_an_object_an_instance(drawn: Any, data: st.DataObject, folder: Path) -> None:
    ids, classes, scores = drawn
    id_, key, node, number = data.draw(
        st.lists(NAMES, min_size=4, max_size=4, unique=True).map(ids_first)
    )
    pairs = data.draw(st.booleans())
    entries = []
    for own, row in zip(ids, scores.tolist(), strict=True):
        held = dict(zip(classes, row, strict=True))
        listed = [{node: one, number: score} for one, score in held.items()]
        entries.append({id_: own, key: listed if pairs else held})
    path = folder / "scores.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in entries), "utf-8")
    found = cells_of(path, labelled(ids))
    assert found in (None, expected(ids, classes, scores))


@given(drawn=scored(), data=st.data())
@examples(100)
def test_a_matrix(drawn: Any, data: st.DataObject, folder: Path) -> None:
    ids, classes, scores = drawn
    precision = data.draw(st.sampled_from(["f2", "f4", "f8"]))
    rounded = scores.astype(precision)
    named = data.draw(st.booleans())
    if named:
        path = folder / "scores.npz"
        np.savez(path, scores=rounded, instances=np.array(ids), classes=np.array(classes))
        found = cells_of(path, labelled(ids))
    else:
        path = folder / "scores.npy"
        np.save(path, rounded)
        found = cells_of(path, labelled(ids), classes=classes, by_order=True)
    assert found == expected(ids, classes, rounded.astype(float))


@given(drawn=scored(), data=st.data())
@examples(100)
def test_sets_of_labels(drawn: Any, data: st.DataObject, folder: Path) -> None:
    ids, classes, scores = drawn
    flags = (scores > 0.5).astype(float)
    names = data.draw(st.lists(NAMES, min_size=2, max_size=2, unique=True).map(ids_first))
    sets = [[classes[j] for j in np.flatnonzero(row)] for row in flags]
    kind = data.draw(st.sampled_from(["json", "repr", "long", "flags", "vector"]))
    options: dict[str, Any] = {}
    if kind == "json":
        path = folder / "sets.jsonl"
        lines = (
            json.dumps(dict(zip(names, pair, strict=True))) for pair in zip(ids, sets, strict=True)
        )
        path.write_text("\n".join(lines), "utf-8")
    elif kind == "long":
        pairs = [(own, one) for own, several in zip(ids, sets, strict=True) for one in several]
        columns = {name: [pair[at] for pair in pairs] for at, name in enumerate(names)}
        path = written(columns, folder / "sets.csv")
    elif kind == "repr":
        path = written({names[0]: ids, names[1]: [*map(str, sets)]}, folder / "sets.csv")
    elif kind == "flags":
        columns = {names[0]: ids} | {
            c: flags[:, at].astype(int).tolist() for at, c in enumerate(classes)
        }
        path = written(columns, folder / "sets.csv")
        ids = ids if names[0] not in classes else []
    else:
        vectors = [*map(str, flags.astype(int).tolist())]
        path = written({names[0]: ids, names[1]: vectors}, folder / "sets.csv")
        options = {"classes": classes}
    found = cells_of(path, labelled(drawn[0]), **options)
    assert found is None or found == expected(drawn[0], classes, flags)
