"""Files of predictions as libraries and people write them: read right at once, or asked."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import audit

CLASSES = ("dog", "cat", "oak", "rose")
TREE = {"dog": "animal", "cat": "animal", "oak": "plant", "rose": "plant"}
NUMBERS = np.array([3, 3, 1, 0, 2, 1])
GIVEN = [CLASSES[number] for number in NUMBERS]
SCORES = np.where(np.arange(4) == NUMBERS[:, np.newaxis], 0.7, 0.1)
HOT = np.eye(4, dtype=int)[NUMBERS]
FRAME = pd.DataFrame(SCORES, columns=CLASSES)
ROWS = range(len(GIVEN))
FILES = [f"{row}/{name}.png" for row, name in enumerate(GIVEN)]
LABEL_N = tuple(f"LABEL_{number}" for number in range(4))
SURE = SCORES.max(axis=1)


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


def ranked(k: int) -> list[tuple[str, int, str, float]]:
    best = np.argsort(-SCORES, axis=1, kind="stable")[:, :k]
    return [
        (FILES[row], rank, CLASSES[at], SCORES[row, at])
        for row in ROWS
        for rank, at in enumerate(best[row].tolist(), 1)
    ]


RESULTS = (
    (100 * FRAME)
    .round(2)
    .add_prefix("p_")
    .assign(doc_id=FILES, y_true=GIVEN[::-1], y_pred=GIVEN[::-1])
)
ONE_ANSWER: dict[str, bytes] = {
    "predict_proba to_csv.csv": FRAME.to_csv().encode(),
    "index of R.csv": FRAME.set_axis([*map(str, ROWS)]).to_csv(quoting=2).encode(),
    "index as it is read.csv": table(**{"Unnamed: 0": ROWS}, **FRAME),
    "no index.csv": FRAME.to_csv(index=False).encode(),
    "decimal commas.csv": FRAME.to_csv(sep=";", decimal=",", index_label="id").encode(),
    "long commas.csv": FRAME.reset_index(names="id").melt("id", var_name="node", value_name="score")
    .to_csv(sep=";", decimal=",", index=False).encode(),
    "ids in the index.csv": FRAME.set_axis(FILES).to_csv().encode(),
    "beside others.csv": FRAME.assign(file=FILES, fold=1, loss=2.5, split="test", best=SURE)
    .to_csv(index=False).encode(),
    "class numbers.jsonl": lines([{"id": n, "scores": s} for n, s in enumerate(named(LABEL_N))]),
    "numbers of columns.csv": pd.DataFrame(SCORES).to_csv(index_label="id").encode(),
    "pipeline.jsonl": lines(pairs()),
    "pipeline.json": json.dumps(pairs(), indent=1).encode(),
    "pipeline numbers.json": json.dumps(pairs(LABEL_N)).encode(),
    "pipeline beside ids.jsonl": lines([{"id": n, "scores": s} for n, s in enumerate(pairs())]),
    "best alone.json": json.dumps([max(p, key=lambda one: one["score"]) for p in pairs()]).encode(),
    "halves.npy": npy(SCORES.astype(np.float16)),
    "sure.csv": table(id=ROWS, prediction=GIVEN, confidence=SURE),
    "results of names.csv": table(id=ROWS, target=GIVEN[::-1], **FRAME),
    "vectors.csv": table(doc=FILES, probability=[str(row) for row in SCORES.tolist()]),
    "vectors.jsonl": lines([{"id": one, "probs": row, "embedding": [7.5, -2]}
                            for one, row in zip(FILES, SCORES.tolist(), strict=True)]),
    "whole list.csv": pd.DataFrame(ranked(4), columns=["file", "rank", "cls", "p"])
    .to_csv(index=False).encode(),
}  # fmt: skip
SETS: dict[str, bytes] = {
    "argmax.npy": npy(NUMBERS),
    "argmax.npz": npz(preds=NUMBERS),
    "names.npy": npy(np.array(GIVEN)),
    "one hot.npy": npy(HOT),
    "numbers.csv": table(id=ROWS, prediction=NUMBERS),
    "numbers beside truth.csv": table(id=ROWS, label=GIVEN[::-1], prediction=NUMBERS),
    "names alone.csv": table(y_pred=GIVEN),
    "beside an index.csv": table(**{"Unnamed: 0": ROWS}, Filename=FILES, Predicted=GIVEN),
    "numbers.jsonl": lines([{"id": n, "prediction": int(of)} for n, of in enumerate(NUMBERS)]),
    "names.jsonl": lines([{"id": n, "prediction": [of]} for n, of in enumerate(GIVEN)]),
    "flags.csv": table(file=FILES, hot=[str(row) for row in HOT.tolist()]),
    "flags.jsonl": lines([{"id": n, "labels": row} for n, row in enumerate((HOT == 1).tolist())]),
}  # fmt: skip
ASKED: dict[str, bytes] = {
    "sure in per cent.csv": table(**{"": ROWS, "Filename": FILES, "Predictions": GIVEN,
                                     "Confidence": [f"{100 * sure:.1f} %" for sure in SURE]}),
    "per cent.npy": npy(100 * SCORES),
    "results.csv": RESULTS.to_csv(sep=";", decimal=",", index=False).encode(),
    "results.jsonl": RESULTS.to_json(orient="records", lines=True).encode(),
    "results of numbers.csv": FRAME.set_axis(["prob_0", "prob_1", "prob_2", "prob_3"], axis=1)
    .assign(y_true=NUMBERS, y_pred=NUMBERS).to_csv(index=False).encode(),
    "sure of numbers.csv": table(id=ROWS, pred=NUMBERS, y_true=NUMBERS, prob=SURE),
    "names beside truth.csv": table(id=ROWS, y_true=GIVEN[::-1], y_pred=GIVEN),
    "by id.json": json.dumps({one: [of] for one, of in zip(FILES, GIVEN, strict=True)}).encode(),
    "numbers that may be answers.csv": table(file=FILES, label=GIVEN[::-1], output=NUMBERS),
    "truth as in the labels.csv": table(file=FILES, label=GIVEN, output=GIVEN),
    "truth beside no nodes.csv": table(file=FILES, label=GIVEN, output=["x"] * 6),
    "fasttext.txt": "".join(f"__label__{one} 0.7\n" for one in GIVEN).encode(),
    "no header.csv": FRAME.assign(file=FILES).melt("file").to_csv(index=False, header=False)
    .encode(),
    "two of two dimensions.npz": npz(y_true=np.eye(4)[NUMBERS], y_pred=SCORES),
    "best of several.csv": table(file=FILES, **{"Top-1": GIVEN, "True label": GIVEN[::-1]}),
    "levels.csv": table(file=FILES, level_1=[TREE[one] for one in GIVEN], level_2=GIVEN),
    "three best.csv": pd.DataFrame(ranked(3), columns=["file", "rank", "cls", "p"])
    .to_csv(index=False).encode(),
    "logits.npy": npy(10 * SCORES - 3),
    "logits beside others.csv": FRAME.mul(10).assign(file=FILES, loss=2.5).to_csv().encode(),
    "right or wrong.csv": table(file=FILES, prediction=GIVEN, correct=[1, 0] * 3),
    "of a hundred.csv": table(file=FILES, prediction=GIVEN, confidence=100 * SURE),
    "two numbers.csv": table(file=FILES, prediction=GIVEN, confidence=SURE, iou=SURE / 2),
    "joined.csv": table(file=FILES, prediction=[f"{one};dog" for one in GIVEN]),
    "ids of decimals.csv": table(id=[float(row) for row in ROWS], prediction=GIVEN),
    "blanks.csv": FRAME.assign(file=FILES, dog=None).to_csv(index=False).encode(),
    "shorter lists.jsonl": lines([{"id": n, "labels": [0, 1]} for n in ROWS]),
    "numbers from 1.csv": table(id=ROWS, prediction=NUMBERS + 1),
    "lists of ids.jsonl": lines([{"id": ["a", "b"], "labels": ["dog"]} for _ in ROWS]),
    "lists of lists.jsonl": lines([{"id": n, "labels": [["dog"], ["cat"]]} for n in ROWS]),
    "no answers.csv": table(file=FILES, comment=["fine"] * 6),
    "broken.json": b'{"id": 1, "scores"',
    "empty.npy": b"",
}  # fmt: skip


def read(content: bytes, name: str, folder: Path, **options: Any) -> audit.Predictions:
    path, classes = folder / name, folder / "classes.txt"
    path.write_bytes(content)
    classes.write_text("\n".join(CLASSES))
    named = any(word in name for word in ("npy", "npz", "umbers", "ectors", "flags", "lists"))
    labels = {"file": FILES, "label": GIVEN} if b"png" in content else GIVEN
    dataset = audit.load_labels(labels, TREE, id=None if labels is GIVEN else "file")
    given = classes if named and "names" not in name else None
    return audit.load_predictions(path, dataset, classes=given, **options)


def answers(found: audit.Predictions) -> list[str]:
    best = found.scores.toarray().argmax(axis=1)
    by_id = dict(zip(found.instances, [found.hierarchy.nodes[node] for node in best], strict=True))
    return [by_id[row] for row in sorted(by_id)]


@pytest.mark.parametrize("name", ONE_ANSWER)
def test_scores_are_one_answer_each(name: str, tmp_path: Path) -> None:
    found = read(ONE_ANSWER[name], name, tmp_path)
    assert found.single_label
    assert answers(found) == GIVEN
    assert found.scores.max() == pytest.approx(0.7, abs=1e-3)


@pytest.mark.parametrize("name", SETS)
def test_answers_are_sets(name: str, tmp_path: Path) -> None:
    found = read(SETS[name], name, tmp_path)
    assert found.set_valued
    assert answers(found) == GIVEN


@pytest.mark.parametrize("name", ASKED)
def test_others_are_asked(name: str, tmp_path: Path) -> None:
    with pytest.raises(audit.AuditError) as caught:
        read(ASKED[name], name, tmp_path)
    assert caught.value.exit_status == 2


def test_what_is_offered_reads(tmp_path: Path) -> None:
    with pytest.raises(audit.AuditError) as caught:
        read(ASKED["three best.csv"], "three best.csv", tmp_path)
    offered: dict[str, Any] = caught.value.options  # type: ignore[attr-defined]
    assert answers(read(ASKED["three best.csv"], "three best.csv", tmp_path, **offered)) == GIVEN


@pytest.mark.parametrize("odd", ["-1", "tensor(2)", "[0.1 0.9]", "tensor([0.1, 0.9])"])
def test_answers_that_are_no_numbers_of_classes_are_told_as_such(odd: str) -> None:
    dataset = audit.load_labels({"id": ["a", "b"], "label": ["dog", "cat"]}, TREE)
    with pytest.raises(audit.AuditError, match="numbers of classes, from 0 on") as caught:
        audit.load_predictions(
            {"id": ["a", "b"], "prediction": ["0", odd]}, dataset, classes=CLASSES
        )
    assert odd in caught.value.found
    assert "tensor(3)" in caught.value.hint
