"""The verdict on a model: how often it is right, and what moving up the hierarchy mends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.words.metric_words import Metric, heading, of, with_interval
from audit._reports.words.parts import ModelVerdict
from audit._reports.words.table_specs import Spec, optional_table, texts, written
from audit._reports.words.words import (
    capitalised,
    counted,
    listed,
    number,
    percent,
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
    metrics = [one for one in shared["metrics"] if one["scope"] == "all"]
    places = _of_sets(metrics) or _of_answers(metrics)
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
    """Whether anything changes between the leaves and a cut, or that is not told."""
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
