"""The verdict on a model: how often it is right, and what moving up the hierarchy mends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.comparison.models import TWO, difference
from audit._reports.words.metric_words import Metric, change, heading, of, with_interval
from audit._reports.words.parts import ModelVerdict
from audit._reports.words.table_specs import Spec, optional_table, texts, written
from audit._reports.words.words import (
    capitalised,
    counted,
    listed,
    number,
    percent,
    shortened,
    span,
    tenths,
)

_RIGHT = ("accuracy", "f1")
_SHOWN = (*_RIGHT, "accuracy_alignment", "uncertainty_alignment")
_BRANCHES = "by branch"
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Place:
    """How specific answers must be, with the metrics there, and from the finest place up to it."""

    at: int
    said: str
    metrics: Mapping[str, Metric]

    @property
    def right(self) -> Metric:
        """Its accuracy or F1."""
        return next(self.metrics[name] for name in _RIGHT if name in self.metrics)


def model_verdict(shared: Mapping[str, Any]) -> ModelVerdict | None:
    """The verdict at the finest place, at the next that tells something else, at the coarsest.

    None without predictions.
    """
    places = _places([one for one in shared["metrics"] if one["scope"] == "all"])
    if two := shared.get("models"):
        return _of_two(two, places)
    names = [name for name in _SHOWN if any(name in place.metrics for place in places)]
    made = optional_table(
        "model-verdict",
        "The model, and what moving up the hierarchy mends",
        places,
        texts("Answers", lambda place: capitalised(place.said)),
        *map(_column, names),
        written("Instances", lambda place: of(place.right)),
    )
    return ModelVerdict(_sentence(places), made) if made else None


def _places(metrics: Sequence[Metric]) -> list[_Place]:
    return _of_sets(metrics) or _of_answers(metrics)


def _of_two(two: Mapping[str, Any], places: Sequence[_Place]) -> ModelVerdict | None:
    """Both models at the places of either, a line a metric, and what the difference means."""
    known = {_key(row): row for row in two["metrics"]["rows"]}
    rows = [row for row in known.values() if row["n_second"] is not None]
    second = _places([_of_side(row, "second") for row in rows])
    lines = {
        _key(one): (place, known[_key(one)])
        for place in (*second, *places)
        for name in _SHOWN
        if (one := place.metrics.get(name)) is not None and _key(one) in known
    }
    names = [shortened(name, 30) for name in two["names"]]
    table = optional_table(
        "model-verdict",
        "The two models, and what moving up the hierarchy mends",
        sorted(lines.values(), key=lambda line: line[0].at),
        texts("Metric", lambda line: f"{heading(line[1]['name'])}, {line[0].said}"),
        *map(_of_model, names, TWO.keys),
        written("Difference", lambda line: _apart(line[1])),
    )
    right = [(place, known[_key(place.right)]) for place in places if _key(place.right) in known]
    own = zip(names, map(_sentence, (places, second)), strict=True)
    said = (f"{name}: {sentence}" for name, sentence in own if sentence)
    return ModelVerdict(" ".join((_compared(two, names, right), *said)), table) if table else None


_Line = tuple[_Place, Mapping[str, Any]]


def _key(metric: Metric) -> str:
    return json.dumps([metric["name"], metric["parameters"]], sort_keys=True)


def _of_side(row: Mapping[str, Any], side: str) -> Metric:
    """One side of a compared metric, as a metric by itself."""
    own = {"value": row[side], "n": row[f"n_{side}"]}
    ends = {end: row[f"{side}_{end}"] for end in ("low", "high")}
    return {"name": row["name"], "scope": "all", "parameters": row["parameters"], **own, **ends}


def _of_model(name: str, side: str) -> Spec:
    def cell(line: _Line) -> str:
        measured = line[1][f"n_{side}"] is not None
        return with_interval(_of_side(line[1], side)) if measured else "not measured"

    return written(name, cell)


def _apart(row: Mapping[str, Any]) -> str:
    """A difference with its interval in brackets."""
    shown = difference(row, TWO)
    if row["difference"] is None or row["low"] is None:
        return shown
    ends = span(*(change(row["name"], row[end]) for end in ("low", "high")))
    return f"{shown} ({ends.replace(' ', chr(0xA0))})"


def _compared(two: Mapping[str, Any], names: Sequence[str], lines: Sequence[_Line]) -> str:
    """Which of the two is right more often, at the finest place and at the coarsest."""
    first, second = names
    if two["predictions"] == "same":
        return f"{first} and {second} hold the same predictions."
    told = [line for line in lines if line[1]["difference"] is not None]
    if not told:
        return f"How often {first} and {second} are right cannot be compared here."
    at = [f"for {told[0][0].said}", *(place.said for place, _ in told[1:][-1:])]
    rows = [told[0][1], *(row for _, row in told[1:][-1:])]
    said = listed([f"{_apart(row)} {place}" for row, place in zip(rows, at, strict=True)])
    fine, coarse = _sign(rows[0]), _sign(rows[-1])
    neither = f"neither {first} nor {second} is shown to be better"
    verdict = f"{second} is {_THAN[fine]} than {first}" if fine else neither
    if coarse != fine:
        further = f"{second} is {_THAN[coarse]}" if coarse else "no difference is shown"
        verdict += f", but {further} {at[-1]}"
    return f"By {heading(rows[0]['name'])}, {_over(two, rows[0])}, {verdict}: {said}."


_THAN = {1: "better", -1: "worse"}


def _over(two: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """What a difference is over: the same instances, or more of one model."""
    both = counted(two["common"] or 0, "instance")
    sizes = [row[f"n_{side}"] for side in TWO.keys]
    if all(n == two["common"] for n in sizes):
        return f"over {both} that both answered"
    first, second = map(number, sizes)
    return f"over {first} and {second} instances of which both answered {both}"


def _sign(row: Mapping[str, Any]) -> int:
    """1 where the second is shown to have more, -1 less, 0 where neither is shown."""
    return 0 if row["low"] is None else int(row["low"] > 0) - int(row["high"] < 0)


def _column(name: str) -> Spec:
    return written(heading(name), lambda place: with_interval(place.metrics.get(name)))


def _of_sets(metrics: Sequence[Metric]) -> list[_Place]:
    """The labels as given, one level up, and branches; none where there is one answer each."""
    every = [one for one in metrics if one["name"] == "f1"]
    found = sorted(every, key=lambda one: one["parameters"].get("up", len(every)))
    called = ("labels as given", "one level up", _BRANCHES)
    return [_Place(i, called[i], {"f1": one}) for i, one in enumerate(found)]


def _of_answers(metrics: Sequence[Metric]) -> list[_Place]:
    """The leaves, the first cut beyond at which an answer counts for another, and the coarsest."""
    by_depth = any("depth_to" in one["parameters"] for one in metrics)
    kind, sign = ("depth", -1) if by_depth else ("level", 1)
    own = [one for one in metrics if one["name"] == "accuracy"]
    order = sorted((one["parameters"][f"{kind}_to"] for one in own), key=lambda at: sign * at)
    found: dict[int, dict[str, Metric]] = {at: {} for at in order}
    for one in metrics:
        at = one["parameters"].get(f"{kind}_to")
        if at in found and one["parameters"].get(f"{kind}_from", order[0]) == order[0]:
            found[at][one["name"]] = one
    beyond = [at for at in order[1:] if _moves(found[at])] or order[1:]
    return [
        _Place(i, _said(kind, at, order), found[at])
        for i, at in enumerate(dict.fromkeys((*order[:1], *beyond[:1], *order[-1:])))
    ]


def _moves(metrics: Mapping[str, Metric]) -> bool:
    """Whether anything changes between the leaves and a cut, or that is withheld."""
    told = ("recovered", "lost", "uncertainty_alignment")
    return any(metrics[name]["value"] != 0 for name in told if name in metrics)


def _said(kind: str, at: int, order: Sequence[int]) -> str:
    if at == order[0]:
        return f"leaves ({kind} {at})"
    if kind == "depth" and at == 1:
        return _BRANCHES
    return f"one level up ({kind} {at})" if at == order[1] else f"at {kind} {at}"


def _sentence(places: Sequence[_Place]) -> str:
    """What becomes of mistakes further up, by what is shown."""
    first, *beyond = places
    if not beyond or not ("f1" in first.metrics or "recovered" in beyond[-1].metrics):
        return ""
    if "f1" in first.metrics:
        return _of_f1(first, beyond)
    shown = [
        (place, one)
        for place in beyond
        for one in [place.metrics["recovered"]]
        if one["value"] is not None and isinstance(one["n"], int)
    ]
    mended = [
        f"{number(round(one['value'] * one['n']))} ({percent(one['value'])}) are right {place.said}"
        for place, one in shown
    ]
    said = f"Of {counted(shown[0][1]['n'], 'wrong answer')} {listed(mended)}" if shown else ""
    top = beyond[-1]
    one, match = top.metrics["recovered"], top.metrics.get("abstraction_match")
    parts = [said and said + _meaning(top, one["low"], one["high"], "most of the error")]
    if top.said == _BRANCHES and match and match["value"] is not None:
        parts.append(f"{percent(match['value'])} of all uncertainty lies within single branches.")
    return " ".join(filter(None, parts))


def _of_f1(first: _Place, beyond: Sequence[_Place]) -> str:
    own, top = first.right, beyond[-1].right
    shown = [(place, place.right) for place in beyond if place.right["value"] is not None]
    if own["value"] in (None, 1) or not shown:
        return ""
    gains = [
        f"{tenths(100 * abs(gain))} points {'worse' if gain <= -0.0005 else 'better'} {place.said}"
        for place, one in shown
        for gain in [one["value"] - own["value"]]
    ]
    ends = (own["low"], own["high"], top["low"], top["high"])
    low, high = (
        (None, None)
        if None in ends
        else (1 - (1 - ends[2 + i]) / max(1 - ends[1 - i], 1e-9) for i in (0, 1))
    )
    meaning = _meaning(beyond[-1], low, high, "most of what it lacks")
    return f"F1 is {percent(own['value'])}, and {listed(gains)}{meaning}"


def _meaning(top: _Place, low: float | None, high: float | None, what: str) -> str:
    """The end of a sentence: what it means, where an interval lies on one side of a half."""
    if top.said == _BRANCHES and low is not None and high is not None:
        if low > _HALF:
            return f": {what} lies within the right branch."
        if high < _HALF:
            return f": {what} lies beyond the right branch."
    return "."
