"""Predictions in the shapes that libraries write: read right, or refused with a way out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import audit
from audit.base.errors import AuditError, InputError, SchemaError
from audit.data.class_names import Shared
from audit.data.predictions import Predictions
from fixtures.written import written

CLASSES = ("dog", "cat", "oak", "rose")
TREE = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
NUMBERS = np.array([3, 3, 1, 0, 2, 1])
GIVEN = [CLASSES[number] for number in NUMBERS]
SCORES = np.where(np.arange(4) == NUMBERS[:, np.newaxis], 0.7, 0.1)
FRAME = pd.DataFrame(SCORES, columns=CLASSES)
ROWS = range(len(GIVEN))


def npz(**arrays: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def table(**columns: Any) -> bytes:
    return pd.DataFrame(columns).to_csv(index=False).encode()


def lines(objects: list[Any]) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in objects).encode()


def pairs(names: tuple[str, ...] = CLASSES) -> list[list[dict[str, Any]]]:
    return [
        [{"label": name, "score": score} for name, score in zip(names, row, strict=True)]
        for row in SCORES.tolist()
    ]


def named(names: tuple[str, ...]) -> list[dict[str, float]]:
    return [dict(zip(names, row, strict=True)) for row in SCORES.tolist()]


LABEL_N = tuple(f"LABEL_{number}" for number in range(4))
CONFIDENCE = SCORES.max(axis=1)
FILES = [f"{row}/{name}.png" for row, name in enumerate(GIVEN)]
RESULTS = (
    (100 * FRAME)
    .round(2)
    .add_prefix("p_")
    .assign(doc_id=FILES, y_true=GIVEN[::-1], y_pred=GIVEN[::-1])
)
ONE_ANSWER: dict[str, bytes] = {
    "index without a name.csv": FRAME.to_csv().encode(),
    "index of R.csv": FRAME.set_axis([*map(str, ROWS)]).to_csv(quoting=2).encode(),
    "index as it is read.csv": table(**{"Unnamed: 0": ROWS}, **FRAME),
    "no index.csv": FRAME.to_csv(index=False).encode(),
    "decimal commas.csv": FRAME.to_csv(sep=";", decimal=",", index_label="id").encode(),
    "long commas.csv": FRAME.reset_index(names="id").melt("id", var_name="node", value_name="score")
    .to_csv(sep=";", decimal=",", index=False).encode(),
    "class numbers.jsonl": lines([{"id": n, "scores": s} for n, s in enumerate(named(LABEL_N))]),
    "numbers of columns.csv": pd.DataFrame(SCORES).to_csv(index_label="id").encode(),
    "pipeline.jsonl": lines(pairs()),
    "pipeline.json": json.dumps(pairs(), indent=1).encode(),
    "pipeline numbers.json": json.dumps(pairs(LABEL_N)).encode(),
    "pipeline beside ids.jsonl": lines([{"id": n, "scores": s} for n, s in enumerate(pairs())]),
    "best alone.json": json.dumps([max(p, key=lambda one: one["score"]) for p in pairs()]).encode(),
    "probabilities.npz": npz(y_true=np.eye(4)[NUMBERS], y_pred=SCORES),
    "per cent.npy": npy(100 * SCORES),
    "halves.npy": npy(SCORES.astype(np.float16)),
    "sure.csv": table(id=ROWS, prediction=GIVEN, confidence=CONFIDENCE),
    "sure in per cent.csv": table(**{"": ROWS, "Filename": FILES, "Predictions": GIVEN,
                                     "Confidence": [f"{100 * sure:.1f} %" for sure in CONFIDENCE]}),
    "results.csv": RESULTS.to_csv(sep=";", decimal=",", index=False).encode(),
    "results.jsonl": RESULTS.to_json(orient="records", lines=True).encode(),
    "results without answers.csv": RESULTS.drop(columns="y_pred").to_csv(index=False).encode(),
    "results of names.csv": table(id=ROWS, target=GIVEN[::-1], **FRAME),
    "results of numbers.csv": FRAME.set_axis(["prob_0", "prob_1", "prob_2", "prob_3"], axis=1)
    .assign(y_true=NUMBERS, y_pred=NUMBERS).to_csv(index=False).encode(),
    "sure of numbers.csv": table(id=ROWS, pred=NUMBERS, y_true=NUMBERS, prob=CONFIDENCE),
}  # fmt: skip
SETS: dict[str, bytes] = {
    "argmax.npy": npy(NUMBERS),
    "argmax.npz": npz(preds=NUMBERS),
    "names.npy": npy(np.array(GIVEN)),
    "one hot.npy": npy(np.eye(4, dtype=int)[NUMBERS]),
    "numbers.csv": table(id=ROWS, prediction=NUMBERS),
    "numbers beside truth.csv": table(id=ROWS, label=GIVEN[::-1], prediction=NUMBERS),
    "names beside truth.csv": table(id=ROWS, y_true=GIVEN[::-1], y_pred=GIVEN),
    "names alone.csv": table(y_pred=GIVEN),
    "best of several.csv": table(file=FILES, **{"Top-1": GIVEN, "True label": GIVEN[::-1]}),
    "beside an index.csv": table(**{"Unnamed: 0": ROWS}, Filename=FILES, Predicted=GIVEN),
    "numbers.jsonl": lines([{"id": n, "prediction": int(of)} for n, of in enumerate(NUMBERS)]),
    "names.jsonl": lines([{"id": n, "prediction": [of]} for n, of in enumerate(GIVEN)]),
}


def read(content: bytes, name: str, folder: Path, **options: Any) -> Predictions:
    path, classes = folder / name, folder / "classes.txt"
    path.write_bytes(content)
    classes.write_text("\n".join(CLASSES))
    dataset = audit.load_labels({"id": FILES, "label": GIVEN} if b"png" in content else GIVEN, TREE)
    return audit.load_predictions(path, dataset, classes=Shared(classes), **options)


def answers(found: Predictions) -> list[str]:
    best = found.scores.toarray().argmax(axis=1)
    by_id = dict(zip(found.instances, [found.hierarchy.nodes[node] for node in best], strict=True))
    return [by_id[row] for row in sorted(by_id)]


@pytest.mark.parametrize("name", ONE_ANSWER)
def test_scores_are_read_as_one_answer(name: str, tmp_path: Path) -> None:
    found = read(ONE_ANSWER[name], name, tmp_path)
    assert (answers(found), found.single_label, found.set_valued) == (GIVEN, True, False)
    assert found.scores.max() == pytest.approx(0.7, abs=1e-3)


@pytest.mark.parametrize("name", SETS)
def test_answers_are_read_as_sets(name: str, tmp_path: Path) -> None:
    found = read(SETS[name], name, tmp_path)
    assert (answers(found), found.set_valued, found.scores.nnz) == (GIVEN, True, len(GIVEN))


@pytest.mark.parametrize("name", ["raw.npz", "named.npz", "logarithms.npz"])
def test_raw_outputs_are_asked(name: str, tmp_path: Path) -> None:
    outputs = np.log(SCORES) + 3 * (name != "logarithms.npz")
    arrays = {"preds": outputs, "labels": SCORES} if name == "named.npz" else {"logits": outputs}
    with pytest.raises(AuditError, match="--softmax or --sigmoid"):
        read(npz(**arrays), name, tmp_path)
    found = read(npz(**arrays), name, tmp_path, transform="softmax")
    assert (answers(found), found.single_label) == (GIVEN, True)


def test_a_blank_score_is_refused_with_what_to_write(tmp_path: Path) -> None:
    content = FRAME.where(SCORES > 0.5).to_csv(index_label="id").encode()
    with pytest.raises(SchemaError, match="write 0 where the model has no score"):
        read(content, "blank.csv", tmp_path)


def test_a_number_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"from 0 to 3(.|\n)*Found: 4"):
        read(table(id=ROWS, prediction=NUMBERS + 1), "beyond.csv", tmp_path)


def test_names_stay_where_they_are_numbers(tmp_path: Path) -> None:
    tree = {"1": "odd", "3": "odd", "2": "even"}
    dataset = audit.load_labels([["1"], ["2"], ["3"]], tree)
    scores = {"1": [0.7, 0.1, 0.2], "2": [0.1, 0.7, 0.2], "3": [0.2, 0.2, 0.6]}
    names = written(tmp_path / "classes.txt", "3\n2\n1\n")
    found = audit.load_predictions(scores, dataset, classes=Shared(names))
    best = found.scores.toarray().argmax(axis=1)
    assert [found.hierarchy.nodes[node] for node in best] == ["1", "2", "3"]
    for classes in (["3", "2", "1"], names):
        with pytest.raises(InputError, match="leave out classes"):
            audit.load_predictions(scores, dataset, classes=classes)


@pytest.mark.parametrize("kind", [np.array, lambda values: np.array(values, dtype=object)])
def test_arrays_of_names_and_of_objects_are_read(kind: Callable[[Any], Any]) -> None:
    dataset = audit.load_labels(kind(GIVEN), TREE)
    of_names = audit.load_predictions(kind(GIVEN), dataset)
    of_scores = audit.load_predictions(kind(SCORES.tolist()), dataset, classes=CLASSES)
    assert answers(of_names) == answers(of_scores) == GIVEN
    assert (of_names.set_valued, of_scores.single_label) == (True, True)


@pytest.mark.parametrize("ids", [{}, {"id": [*map(str, ROWS)]}])
def test_numbers_in_a_frame_are_classes_where_these_have_names(ids: dict[str, list[str]]) -> None:
    dataset = audit.load_labels(GIVEN, TREE)
    frame = {**ids, "prediction": NUMBERS.tolist()}
    assert answers(audit.load_predictions(frame, dataset, classes=CLASSES)) == GIVEN
    with pytest.raises(SchemaError, match="must be text"):
        audit.load_predictions(frame, dataset)


def test_ids_in_an_array_are_read(tmp_path: Path) -> None:
    content = npz(probs=SCORES[::-1], ids=np.arange(len(GIVEN))[::-1])
    with pytest.raises(InputError, match="the predictions have the ids '5', '4'"):
        read(content, "ids.npz", tmp_path)


@pytest.mark.parametrize("ids", [None, [*"abcdef"]])
@pytest.mark.parametrize("values", [NUMBERS, NUMBERS.tolist(), GIVEN])
def test_series_of_numbers_or_names_are_answers(values: Any, ids: list[str] | None) -> None:
    series = pd.Series(values, index=ids)
    dataset = audit.load_labels(pd.Series(GIVEN, index=ids), TREE)
    names = None if values is GIVEN else CLASSES
    assert answers(audit.load_predictions(series, dataset, classes=names)) == GIVEN
    if names:
        with pytest.raises(SchemaError, match="must be text"):
            audit.load_predictions(series, dataset)
        dataset = audit.load_labels(series, TREE, classes=CLASSES)
        assert answers(audit.load_predictions(pd.Series(GIVEN, index=ids), dataset)) == GIVEN


def zero_shot(**further: Any) -> bytes:
    order = np.argsort(-SCORES, axis=1, kind="stable")
    return lines(
        [
            {"sequence": "a text", "labels": [CLASSES[n] for n in own], "scores": [*row[own]]}
            | {key: value[at] for key, value in further.items()}
            for at, (row, own) in enumerate(zip(SCORES, order, strict=True))
        ]
    )


@pytest.mark.parametrize("further", [{}, {"id": [*ROWS]}])
def test_labels_beside_their_scores_are_read_and_the_text_is_no_id(
    further: dict[str, Any], tmp_path: Path
) -> None:
    found = read(zero_shot(**further), "zero_shot.jsonl", tmp_path)
    assert answers(found) == GIVEN
    assert not found.set_valued
    assert found.scores.sum() == pytest.approx(len(GIVEN))


@pytest.mark.parametrize("written", ["{:.0%}", "{:.1f} %"])
@pytest.mark.parametrize("comma", [False, True])
def test_per_cent_signs_are_read(written: str, comma: bool, tmp_path: Path) -> None:
    unit = 1 if "%}" in written else 100
    cells = [[written.format(score * unit) for score in row] for row in SCORES]
    cells = [[cell.replace(".", ",") if comma else cell for cell in row] for row in cells]
    columns = dict(zip(CLASSES, zip(*cells, strict=True), strict=True))
    found = read(table(id=ROWS, **columns), "wide.csv", tmp_path)
    assert found.scores.toarray().max(axis=1) == pytest.approx(0.7)
    highest = [row[number] for row, number in zip(cells, NUMBERS, strict=True)]
    long = table(id=ROWS, node=GIVEN, score=highest)
    assert answers(read(long, "long.csv", tmp_path)) == GIVEN


@pytest.mark.parametrize("name", ["split", "Fold"])
@pytest.mark.parametrize("parts", [["test"] * 6, [0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 5, 1]])
def test_columns_of_parts_of_the_data_are_refused(
    name: str, parts: list[Any], tmp_path: Path
) -> None:
    columns = {**dict(zip(CLASSES, SCORES.T, strict=True)), name: parts}
    with pytest.raises(SchemaError, match="leave out that column"):
        read(table(id=ROWS, **columns), "wide.csv", tmp_path)


@pytest.mark.parametrize("name", ["answers.npy", "answers.csv"])
def test_numbers_below_0_are_refused_with_a_way_out(name: str, tmp_path: Path) -> None:
    numbers = np.where(np.arange(6) == 2, -1, NUMBERS)
    content = npy(numbers) if name.endswith("npy") else table(id=ROWS, prediction=numbers)
    with pytest.raises(SchemaError, match=r"'-1' in 1 row(.|\n)*\"labels\": \[\]"):
        read(content, name, tmp_path)
    sets = [{"id": n, "labels": [] if n == 2 else [GIVEN[n]]} for n in ROWS]
    assert read(lines(sets), "sets.jsonl", tmp_path).ledger.instances_without_scores == 1
