"""Attributions from the objects that captum and ferret give; neither is imported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError
from audit.explanations.attributions import Attributions
from audit.explanations.reading.reading import Choices, attributions_of
from audit.explanations.reading.row_files import Number, rows_of


def from_captum(
    records: Iterable[Any],
    *,
    ids: Sequence[object] | None = None,
    method: str = "attribution",
    model: str = "model",
    seed: int = 0,
    word_pieces: str | None = None,
    special: str | Collection[str] | None = None,
    stop_words: str = "paper",
) -> Attributions:
    """Attributions of captum's visualisation records, or of mappings that name the same things.

    A record has ``word_attributions`` (one number a token: an array, or a tensor on any device),
    ``raw_input_ids`` (the tokens), ``attr_class`` (the target), and, if known, ``true_class`` and
    ``pred_class``. A mapping may instead have the columns of `read_attributions`: ``tokens``,
    ``scores``, ``target``, ``id``, ``method``, ``marks`` and so on.

    Args:
        records: The records; `captum.attr.visualization.VisualizationDataRecord` is one.
        ids: The instance of each record; without, records are numbered from 0 unless they have
            an ``id``.
        method: The attribution method, where a record names none.
        model: The model, where a record names none.
        seed: The seed of the model, where a record names none.
        word_pieces: As in `read_attributions`.
        special: As in `read_attributions`.
        stop_words: As in `read_attributions`.

    Raises:
        InputError: If a record lacks a part, its attributions are not one number a token, or no
            record is sound.
    """
    given = list(records)
    common = {"method": method, "model": model, "seed": seed}
    rows = [
        {**common, **_captum_row(record, number)}
        for number, record in zip(_ids(given, ids), given, strict=True)
    ]
    return _read(rows, word_pieces, special, stop_words)


def from_ferret(
    explanations: Iterable[Any],
    *,
    ids: Sequence[object] | None = None,
    model: str = "model",
    seed: int = 0,
    word_pieces: str | None = None,
    special: str | Collection[str] | None = None,
    stop_words: str = "paper",
) -> Attributions:
    """Attributions of ferret's explanations, or of the evaluations that hold them.

    An explanation has ``text, tokens, scores, explainer`` and ``target``, or ``target_pos_idx``
    where that is none. Its ``rationale``, if it has one, is a mask of the tokens by one annotator.

    Args:
        explanations: The explanations, such as `Benchmark.explain` gives for one text.
        ids: The instance of each explanation; without, the texts are numbered from 0.
        model: The model that all of them explain.
        seed: The seed of that model.
        word_pieces: As in `read_attributions`.
        special: As in `read_attributions`.
        stop_words: As in `read_attributions`.

    Raises:
        InputError: If an explanation lacks a part, or none is sound.
    """
    given = [getattr(one, "explanation", one) for one in explanations]
    if ids is None:
        texts = [_part(one, place, "text") for place, one in enumerate(given)]
        order = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        ids = [order[text] for text in texts]
    rows = [
        _ferret_row(one, number) | {"model": model, "seed": seed}
        for number, one in zip(_ids(given, ids), given, strict=True)
    ]
    return _read(rows, word_pieces, special, stop_words)


def _ferret_row(explanation: Any, number: object) -> dict[str, Any]:
    row = {
        "id": number,
        "target": _part(explanation, number, "target", "target_pos_idx"),
        "tokens": list(_part(explanation, number, "tokens")),
        "scores": _scores(explanation, number, "scores"),
        "method": _part(explanation, number, "explainer"),
    }
    rationale = _get(explanation, "rationale")
    if rationale is not None and len(rationale):
        row["marks"] = _array(rationale).tolist()
    return row


def _captum_row(record: Any, number: object) -> dict[str, Any]:
    if isinstance(record, Mapping) and "tokens" in record:
        marks = {"marks": _array(record["marks"]).tolist()} if "marks" in record else {}
        return {"id": number, **record, "scores": _scores(record, number, "scores"), **marks}
    target = _part(record, number, "attr_class")
    classes = {"gold": _get(record, "true_class"), "predicted": _get(record, "pred_class")}
    return {
        "id": number,
        "target": target,
        "tokens": list(_part(record, number, "raw_input_ids")),
        "scores": _scores(record, number, "word_attributions"),
        **{name: None if one is None else str(one) == str(target) for name, one in classes.items()},
    }


def _ids(given: Sequence[Any], ids: Sequence[object] | None) -> Sequence[object]:
    """The instance of each record: as given, else its number."""
    if ids is None:
        return range(len(given))
    if len(ids) != len(given):
        raise InputError(
            "an id for each record is required", found=f"{len(ids)} ids, {len(given)} records"
        )
    return ids


def _get(record: Any, name: str) -> Any:
    if isinstance(record, Mapping):
        return record.get(name)
    return getattr(record, name, None)


def _part(record: Any, number: object, *names: str) -> Any:
    """The first of these parts that the record has; raises InputError if it has none."""
    for name in names:
        value = _get(record, name)
        if value is not None:
            return value
    raise InputError(
        f"a record must have {' or '.join(names)}",
        found=f"none in record {number} ({type(record).__name__})",
    )


def _scores(record: Any, number: object, name: str) -> list[float]:
    """One number a token, from a list, an array or a tensor; else raises InputError."""
    values = _array(_part(record, number, name))
    if values.ndim == 1 and values.dtype.kind in "fiu":
        scores: list[float] = values.astype(np.float64).tolist()
        return scores
    raise InputError(
        f"{name} must hold one number per token",
        found=f"shape {values.shape} of {values.dtype} in record {number}",
        hint="sum them over the embedding first, and take one text at a time",
    )


def _array(value: Any) -> NDArray[Any]:
    """A list, an array, or a tensor on any device as an array."""
    for step in ("detach", "cpu"):
        value = getattr(value, step, lambda same=value: same)()
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(value, dtype=object)


def _read(
    rows: Sequence[Mapping[str, Any]],
    word_pieces: str | None,
    special: str | Collection[str] | None,
    stop_words: str,
) -> Attributions:
    if not rows:
        raise InputError("attributions are required", found="none")
    choices = Choices.named(word_pieces, special, stop_words, None)
    return attributions_of(rows_of(dict(_plain(row)) for row in rows), choices)


def _plain(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a row as a file has them."""
    for name, value in row.items():
        if isinstance(value, (bool, np.bool_)):
            yield name, bool(value)
        elif isinstance(value, (int, float, np.number)):
            yield name, Number(value)
        else:
            yield name, value
