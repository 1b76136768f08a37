"""From a file's numbers to scores: names of classes, transforms, sides with all ancestors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

import audit
from audit.base.errors import SchemaError
from audit.base.readings import AskedError
from audit.base.settings import Transform
from audit.data.class_lists import class_names, columns_named, named_numbers
from audit.data.joining import closed_side, closed_upwards, lowest
from audit.data.raw_predictions import RawPredictions, as_scores, stored, sum_to_one
from fixtures.examples import examples

NAME = st.text("abcdeü.-(", min_size=1, max_size=6).map(lambda one: f"n{one}")
NAMES = st.lists(NAME, min_size=1, max_size=6, unique=True)


def as_csv(rows: list[list[str]], sep: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(rows)
    return text.getvalue()


def quoted(names: list[str]) -> list[str]:
    return [json.dumps(name, ensure_ascii=False) for name in names]


FORMS = {
    "lines.txt": lambda names: "\n".join(names),
    "numbered.txt": lambda names: "\n".join(f"{n} {name}" for n, name in enumerate(names)),
    "list.json": lambda names: json.dumps(names, indent=1),
    "id2label.json": lambda names: json.dumps(dict(enumerate(names))),
    "label2id.json": lambda names: json.dumps({name: n for n, name in enumerate(names)}),
    "index.json": lambda names: json.dumps({n: [f"x{n}", name] for n, name in enumerate(names)}),
    "data.yaml": lambda names: f"nc: {len(names)}\nnames: [{', '.join(quoted(names))}]\n",
    "block.yaml": lambda names: "names:\n" + "".join(f"  - {one}\n" for one in quoted(names)),
    "yolo.yaml": lambda names: (
        "names:\n" + "".join(f"  {n}: {one}\n" for n, one in enumerate(quoted(names))) + "path: x\n"
    ),
    "index.csv": lambda names: as_csv(
        [["index", "mid", "title"], *([str(n), one, f"T {n}"] for n, one in enumerate(names))]
    ),
    "bare.tsv": lambda names: as_csv([[str(n), one] for n, one in enumerate(names)], "\t"),
    "one.csv": lambda names: as_csv([[one] for one in names]),
}
FROM_ONE = {
    "lines.txt": lambda names: "\n".join(f"{n} {name}" for n, name in enumerate(names, 1)),
    "yolo.yml": lambda names: (
        "names:\n" + "".join(f"  {n}: {one}\n" for n, one in enumerate(quoted(names), 1))
    ),
    "bare.csv": lambda names: as_csv([[str(n), one] for n, one in enumerate(names, 1)]),
    "id.json": lambda names: json.dumps({name: n for n, name in enumerate(names, 1)}),
}


@pytest.mark.parametrize(("form", "first"), [*((f, 0) for f in FORMS), *((f, 1) for f in FROM_ONE)])
@given(names=NAMES)
@examples(20)
def test_names_are_read_as_they_were_written(
    form: str, first: int, names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("classes") / form
    path.write_text((FROM_ONE if first else FORMS)[form](names), "utf-8")
    found = class_names(path, names.__contains__)
    assert found == ("",) * first + tuple(names)
    assert columns_named(found, len(names), "here") == tuple(names)
    assert named_numbers([str(first), f"LABEL_{first}"], found, "here")[str(first)] == names[0]


def test_what_is_no_list_of_nodes_is_refused(tmp_path: Path) -> None:
    for name, text in [
        ("classes.txt", "class\ncat\ndog\n"),
        ("classes.csv", "name\ncat\ndog\n"),
        ("pretty.txt", '[\n  "cat",\n  "dog"'),
        ("levels.json", '{"level_1": ["cat"], "level_2": ["dog"]}'),
        ("other.txt", "n01440764 tench\nn01443537 goldfish\ncat\n"),
        ("gap.txt", "cat\n\ndog\n"),
        ("twice.txt", "cat\ndog\ncat\n"),
        ("far.json", '{"cat": 0, "dog": 1000000000}'),
        ("below.json", '{"cat": -1, "dog": 0}'),
        ("none.yaml", "nc: 2\n"),
        ("empty.json", "{}"),
    ]:
        (tmp_path / name).write_text(text)
        with pytest.raises(audit.AuditError) as caught:
            class_names(tmp_path / name, {"cat", "dog"}.__contains__)
        assert isinstance(caught.value, AskedError) == name.startswith("classes")


def test_columns_and_numbers_beyond_the_names_are_refused() -> None:
    names = class_names(["cat", "dog"])
    for columns in (1, 3):
        with pytest.raises(audit.AuditError):
            columns_named(names, columns, "here")
    for number in ("2", "-1", "cat"):
        with pytest.raises(audit.AuditError):
            named_numbers([number], names, "here")
    assert named_numbers(["1.0", "LABEL_0"], names, "here") == {"1.0": "dog", "LABEL_0": "cat"}


TREE: dict[str, Any] = {
    "R": {"A": {"A1": {"x": {}, "y": {}}, "A2": {"z": {}}}, "B": {"B1": {"u": {}, "v": {}}}}
}
HIERARCHY = audit.load_hierarchy(TREE)
LEAVES = ["x", "y", "z", "u", "v"]
ABOVE = {"x": ["A1", "A"], "y": ["A1", "A"], "z": ["A2", "A"], "u": ["B1", "B"], "v": ["B1", "B"]}
DRAWN = st.lists(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=3, unique=True), min_size=3)


def rows(leaves: list[list[str]], *, closed: bool, **score: float) -> pl.DataFrame:
    nodes = [{n for one in own for n in (one, *(ABOVE[one] if closed else ()))} for own in leaves]
    pairs = [(f"i{row}", node) for row, own in enumerate(nodes) for node in sorted(own)]
    frame = pl.DataFrame(pairs, {"id": pl.String, "label": pl.String}, orient="row")
    return frame.with_columns(**{name: pl.lit(value) for name, value in score.items()})


@pytest.mark.parametrize("score", [{}, {"score": 0.9}])
@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("labels", [False, True])
@given(leaves=DRAWN)
@examples(10)
def test_a_model_that_is_always_right_is(
    leaves: list[list[str]], labels: bool, answers: bool, score: dict[str, float]
) -> None:
    dataset = audit.load_labels(rows(leaves, closed=labels), HIERARCHY)
    told: Any = {"single_label": False} if score else {}
    frame = rows(leaves, closed=answers, **score)
    if not score:
        frame = frame.rename({"label": "prediction"})
    found = audit.load_predictions(frame, dataset, **told)
    assert found.closed == ("" if labels == answers else "answers" if answers else "labels")
    assert bool(found.closed) == any("ancestor" in one.decision for one in found.readings)
    gold, given = (found.gold(dataset) > 0).toarray(), (found.scores > 0.5).toarray()
    assert (gold == given).all()


def test_one_answer_each_is_compared_with_the_lowest_labels() -> None:
    leaves = [[one] for one in LEAVES]
    dataset = audit.load_labels(rows(leaves, closed=True), HIERARCHY)
    scores = np.full((5, 5), 0.05) + 0.75 * np.eye(5)
    wide = pl.DataFrame({"id": [f"i{n}" for n in range(5)]}).hstack(pl.DataFrame(scores, LEAVES))
    found = audit.load_predictions(wide, dataset)
    assert (found.single_label, found.closed) == (True, "labels")
    gold, answers = found.gold(dataset).toarray(), found.scores.toarray()
    assert gold.sum() == 5
    assert (gold.argmax(axis=1) == answers.argmax(axis=1)).all()


def test_sides_that_are_closed_in_part_are_left_as_they_are() -> None:
    half = rows([["x"], ["u"]], closed=True), rows([["x"], ["u"]], closed=False)
    mixed = pl.concat([half[0].filter(id="i0"), half[1].filter(id="i1")])
    dataset = audit.load_labels(rows([["x"], ["u"]], closed=False), HIERARCHY)
    found = audit.load_predictions(mixed.rename({"label": "prediction"}), dataset)
    assert found.closed == ""


matrices = st.lists(
    st.lists(st.integers(0, 4), min_size=len(HIERARCHY), max_size=len(HIERARCHY)),
    min_size=1,
    max_size=5,
)


@given(drawn=matrices)
@examples(50)
def test_closing_is_the_highest_value_below_and_lowest_has_none_below(drawn: Any) -> None:
    values = np.array(drawn) / 4
    above = HIERARCHY.closure.toarray() > 0
    expected = np.array(
        [[(row * above[:, node]).max() for node in range(len(row))] for row in values]
    )
    root = HIERARCHY.root
    expected[:, root] = values[:, root]
    sparse = csr_array(values)
    assert closed_upwards(HIERARCHY, sparse).toarray() == pytest.approx(expected)
    labels = values > 0
    strict = HIERARCHY.strict_closure.toarray() > 0
    bare = labels & ~((labels.astype(int) @ strict) > 0)
    assert (lowest(HIERARCHY, csr_array(labels.astype(np.int64))).toarray() == bare).all()
    assert closed_side(HIERARCHY, csr_array(labels), csr_array(labels)) == ""


LOGITS = arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6)).filter(
    lambda logits: logits.max() > 1 and (-logits).max() > 1 and (logits + 64).max() > 1
)


def raw(
    scores: NDArray[np.float64], *, listed: bool = False, set_valued: bool = False
) -> RawPredictions:
    """Predictions of instances a, b ... for classes 0, 1 ...; listed ones without the zeros."""
    return RawPredictions(
        instances=tuple("abcdef"[: len(scores)]),
        classes=tuple(str(column) for column in range(scores.shape[1])),
        scores=csr_array(scores) if listed else stored(scores),
        set_valued=set_valued,
        sources=(Path("scores.npy"),),
        name="scores.npy",
    )


def dense(predictions: RawPredictions) -> NDArray[np.float64]:
    return csr_array(predictions.scores).toarray()


@given(logits=LOGITS)
def test_softmax_sums_to_one_whatever_the_shift_and_sigmoid_mirrors(
    logits: NDArray[np.float64],
) -> None:
    scores = dense(as_scores(raw(logits), "softmax"))
    assert np.allclose(scores.sum(axis=1), 1)
    assert (np.diff(scores[0][np.argsort(logits[0])]) >= 0).all()
    assert np.allclose(dense(as_scores(raw(logits + 64.0), "softmax")), scores, atol=1e-9)
    mirrored = [dense(as_scores(raw(sign * logits), "sigmoid")) for sign in (1, -1)]
    assert np.allclose(sum(mirrored), 1)
    assert all(((one >= 0) & (one <= 1)).all() for one in mirrored)


def test_large_and_listed_outputs_become_scores() -> None:
    large = np.array([[1e4, 0.0], [-1e4, 1e4]])
    assert dense(as_scores(raw(large), "softmax")).tolist() == [[1, 0], [0, 1]]
    assert dense(as_scores(raw(large), "sigmoid")).tolist() == [[1, 0.5], [0, 1]]
    gap = raw(np.array([[3.0, 0.0]]), listed=True)
    assert dense(as_scores(gap, "sigmoid"))[0, 1] == 0
    for listed in (False, True):
        whole = raw(np.log([[1.5, 4.5], [3, 3]]), listed=listed)
        assert np.allclose(dense(as_scores(whole, "softmax")), [[1 / 4, 3 / 4], [1 / 2, 1 / 2]])
        for written, score in ((1 + 1e-7, 1.0), (-1e-7, 0.0)):
            rounded = raw(np.array([[written, 0.5]]), listed=listed)
            assert dense(as_scores(rounded, None)).tolist() == [[score, 0.5]]
    scores = raw(np.array([[0.0, 1.0], [0.25, 0.5]]))
    assert as_scores(scores, None).scores is scores.scores


def test_sets_and_lists_with_gaps_are_not_transformed() -> None:
    with pytest.raises(SchemaError, match=r"all 2 classes(.|\n)*'1 of b'"):
        as_scores(raw(np.array([[1.0, 2.0], [0.0, 3.0]]), listed=True), "softmax")
    for transform in ("softmax", "sigmoid"):
        with pytest.raises(SchemaError, match="predicted sets"):
            as_scores(raw(np.array([[1.0, 0.0]]), set_valued=True), cast(Transform, transform))


@pytest.mark.parametrize("listed", [False, True])
def test_raw_outputs_are_told_with_the_options(listed: bool) -> None:
    outside = raw(np.array([[0.5, 0.25], [-3.0, 7.5]]), listed=listed)
    with pytest.raises(SchemaError, match=r"--softmax makes .*--sigmoid") as caught:
        as_scores(outside, None)
    assert caught.value.found == "'-3 for 0 of b', '7.5 for 1 of b'"
    assert caught.value.where == "scores.npy"


@pytest.mark.parametrize("several", [1, 58])
def test_no_softmax_is_offered_beside_instances_of_several_labels(several: int) -> None:
    with pytest.raises(SchemaError) as caught:
        as_scores(raw(np.array([[1.2, -0.5]])), None, several)
    assert "--sigmoid" in caught.value.hint
    assert f"{several} instance" in caught.value.hint
    assert "--softmax" not in caught.value.hint


@pytest.mark.parametrize("transform", [None, "softmax", "sigmoid"])
def test_nan_is_refused_before_any_transform(transform: Transform | None) -> None:
    with pytest.raises(SchemaError, match="a finite number") as caught:
        as_scores(raw(np.array([[0.5, np.nan, np.inf], [-np.inf, 0, 1]])), transform)
    assert caught.value.found == "'nan for 1 of a', 'inf for 2 of a', '-inf for 0 of b'"


@pytest.mark.parametrize(("first", "one"), [(0.33, True), (0.325, True), (0.31, False)])
def test_scores_sum_to_one_as_far_as_their_rounding_explains(first: float, one: bool) -> None:
    assert sum_to_one(csr_array([[first, 0.33, 0.33], [0.5, 0.25, 0.25]])) is one
