"""Small plots of a finding's evidence.

They show shares, differences, counts beside their expectation, and ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit._reports.charts.parts import Scale, around_one, around_zero, from_zero, whole
from audit._reports.words.parts import Line, Plot, Tick
from audit._reports.words.words import (
    EVIDENCE,
    among,
    number,
    percent,
    points,
    ratio,
    span,
)

Evidence = Mapping[str, Any]

_RATIOS: Mapping[str, str] = {"unexpected_pair": "excess_ratio"}
_DIFFERENCES: Mapping[str, str] = {"residual_overuse": "residual_difference"}
"""For each check, the policy's threshold on its findings' ratio, or on their difference."""

COUNTED = ("edges", "tuples", "keys", "lacking", "instances", "rows")
"""Counts that ``of`` is the total of: the first of these that evidence has."""
_EXPECTED = ("explained", "expected", "expected_exchanges", "expected_rows")
_BESIDE = (
    ("elsewhere", "here", "elsewhere", "of_elsewhere", "elsewhere_share"),
    ("groups", "instances", "groups", "of_groups", ""),
    ("support_a", "with both", "with the first node", "of", ""),
    ("support_b", "with both", "with the second node", "of", ""),
)
"""Counts drawn below the finding's own: its name, what the own one is then called, what it is,
its total, and its share; the finding's own total where it has none of its own."""


def plots(check: str, evidence: Evidence, thresholds: Mapping[str, float]) -> tuple[Plot, ...]:
    """The plots of a finding's evidence; empty if all of it is withheld."""
    drawn = (
        _shares(evidence),
        _difference(evidence, thresholds.get(_DIFFERENCES.get(check, ""))),
        _counts(evidence),
        _ratio(evidence, thresholds.get(_RATIOS.get(check, ""))),
    )
    return tuple(plot for plot in drawn if plot is not None)


def _shares(evidence: Evidence) -> Plot | None:
    """Shares over one axis: dots where there is an interval, else bars in the whole."""
    if any(name in evidence for name in _EXPECTED):
        return None
    found = list(_confined(evidence) if "parent_share" in evidence else _shares_of(evidence))
    limit = _number_or_none(evidence.get("limit"))
    if not any(line.at is not None or line.within for line in found):
        return None
    if all(line.high is None for line in found):
        return _plot("Shares", found, whole(_round_percent), percent, of_all=True)
    reach = [value for line in found for value in (line.at, line.high, limit) if value is not None]
    dots = [replace(line, mark="dot") for line in found]
    return _plot("Shares", dots, from_zero(reach, _round_percent), percent, limit=limit)


def _shares_of(evidence: Evidence) -> Iterator[Line]:
    name = next((name for name in COUNTED if name in evidence), None)
    if name is None or "of" not in evidence:
        return
    beside = [entry for entry in _BESIDE if entry[0] in evidence]
    own = beside[0][1] if beside else ""
    told = evidence[name], evidence["of"], evidence.get("share")
    yield _share(own, *told, *_bounds(evidence))
    for count, _, called, of, share in beside:
        total = evidence.get(of, evidence["of"])
        yield _share(called, evidence[count], total, evidence.get(share))


def _confined(evidence: Evidence) -> Iterator[Line]:
    """A node of which all instances lie in one value, beside its parent's."""
    low = _number_or_none(evidence["low"])
    high = None if low is None else 1.0
    yield Line(
        f"with the node: all of {number(evidence['units'])}", "bar", "observed", 1.0, low, high
    )
    of, there = evidence["of_parent"], evidence["parent_units"]
    yield _share("with its parent", there, of, evidence["parent_share"], role="model")


def _share(
    called: str,
    count: Any,
    total: Any,
    share: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    role: str = "observed",
) -> Line:
    """A line of one share: the one given, else that of two shown counts."""
    value = _number_or_none(share)
    if value is None and isinstance(count, int) and isinstance(total, int) and total:
        value = count / total
    ends = None if value is not None else _within(count, total)
    within = None if ends is None else (ends[0] / total, ends[1] / total)
    text = among(number(count), total)
    words = text if value is None else f"{text}, {percent(value)}"
    known = (low, high) if None not in (low, high) else (None, None)
    return Line(f"{called}: {words}" if called else words, "bar", role, value, *known, within)


def _difference(evidence: Evidence, limit: float | None) -> Plot | None:
    value = _number_or_none(evidence.get("difference"))
    if value is None:
        return None
    low, high = _bounds(evidence, "difference_")
    reach = [v for v in (value, low, high, limit) if v is not None]
    line = Line(f"difference: {_with_bounds(value, low, high, points)}", "dot", "observed", value)
    return _plot(
        "Difference of the shares, in percentage points",
        [_bounded(line, low, high)],
        around_zero(reach, _round_points),
        points,
        origin=0.0,
        limit=None if limit is None else limit if value > 0 else -limit,
    )


def _counts(evidence: Evidence) -> Plot | None:
    """Counts of instances or rows beside what was expected."""
    found = list(_counted(evidence))
    shown = [v for line in found for v in (line.at, *(line.within or ())) if v is not None]
    if not shown:
        return None
    return _plot("Counts", found, from_zero(shown, number), number)


def _counted(evidence: Evidence) -> Iterator[Line]:
    if "expected_length" in evidence:
        most = [evidence[name] for name in ("support_a", "support_b", "of")]
        total = min((n for n in most if isinstance(n, int)), default=None)
        weighed = evidence.get("observed")
        if weighed is None:
            yield _count("observed", evidence["instances"], total)
        else:
            yield _count("observed, weighted by groups", weighed, None)
        yield from _expected("expected from length", evidence["expected_length"])
        if evidence["explained"] != evidence["expected_length"]:
            yield from _expected("expected with other pairs found", evidence["explained"])
    elif "first_as_second" in evidence:
        yield _count("both ways", evidence["instances"], None)
        yield from _expected("expected", evidence["expected_exchanges"])
        yield _count("the first label, answered with the second", evidence["first_as_second"], None)
        yield _count("the second label, answered with the first", evidence["second_as_first"], None)
    elif "length" in evidence:
        length, of = int(evidence["length"]), evidence["of"]
        yield _count(f"{length - 2} labels", evidence["two_shorter"], of)
        yield _count(f"{length - 1} labels", evidence["one_shorter"], of)
        yield _count(f"{length} labels", evidence["instances"], of)
        yield from _expected(f"{length} labels, expected at most", evidence["expected"])
        yield _count("more labels", evidence["longer"], of)
    elif "expected_rows" in evidence:
        yield _count("rows that start with 0", 0, evidence["of"])
        yield from _expected("expected at least", evidence["expected_rows"])
        yield _count("rows that need a 0 put back", evidence["rows"], evidence["of"])


def _count(called: str, count: Any, total: Any) -> Line:
    return Line(
        f"{called}: {number(count)}",
        "bar",
        "observed",
        _number_or_none(count),
        within=_within(count, total),
    )


def _expected(called: str, value: Any) -> Iterator[Line]:
    if _number_or_none(value) is not None:
        yield Line(f"{called}: {number(value)}", "ring", "expected", value)


def _ratio(evidence: Evidence, limit: float | None) -> Plot | None:
    value = _number_or_none(evidence.get("ratio"))
    if not value:
        return None
    low, high = _bounds(evidence, "ratio_")
    reach = [v for v in (value, low, high, limit) if v is not None]
    words = _with_bounds(value, low, high, ratio) + ("" if low and high else ", no interval")
    line = Line(f"{EVIDENCE['ratio']}: {words}", "dot", "observed", value)
    return _plot(
        "Ratio, on a logarithmic axis",
        [_bounded(line, low, high)],
        around_one(reach, times),
        times,
        origin=1.0,
        limit=limit,
    )


def times(value: float) -> str:
    """A ratio as written on an axis.

    >>> times(1.5), times(10.0)
    ('×1.5', '×10')
    """
    return f"×{number(value)}"


def _round_percent(share: float) -> str:
    return f"{100 * share:g}%"


def _round_points(difference: float) -> str:
    return f"{100 * difference:+g}".replace("-", "−") if difference else "0"


def _bounded(line: Line, low: float | None, high: float | None) -> Line:
    known = None not in (low, high)
    return replace(line, low=low, high=high) if known else line


def _with_bounds(
    value: float, low: float | None, high: float | None, text: Callable[[float], str]
) -> str:
    if low is None or high is None:
        return text(value)
    return f"{text(value)} ({span(text(low), text(high))})"


def _plot(
    title: str,
    found: Sequence[Line],
    scale: Scale,
    text: Callable[[float], str],
    *,
    origin: float | None = None,
    limit: float | None = None,
    of_all: bool = False,
) -> Plot:
    """Lines in the units of what they show become places on the axis."""
    return Plot(
        lines=tuple(_on_scale(line, scale) for line in found),
        ticks=scale.ticks,
        alt=" ".join(_sentences(title, found, text, scale, limit)),
        origin=None if origin is None else scale.place(origin),
        limit=None if limit is None else Tick(scale.place(limit), f"limit {text(limit)}"),
        of_all=of_all,
    )


def _on_scale(line: Line, scale: Scale) -> Line:
    at, low, high = (None if v is None else scale.place(v) for v in (line.at, line.low, line.high))
    ends = line.within and (scale.place(line.within[0]), scale.place(line.within[1]))
    return replace(line, at=at, low=low, high=high, within=ends)


def _sentences(
    title: str,
    found: Iterable[Line],
    text: Callable[[float], str],
    scale: Scale,
    limit: float | None,
) -> Iterator[str]:
    yield f"{title}, from {text(scale.start)} to {text(scale.end)}:"
    yield "; ".join(_in_words(line, text) for line in found) + "."
    if limit is not None:
        yield f"Limit of the policy: {text(limit)}."


def _in_words(line: Line, text: Callable[[float], str]) -> str:
    if line.within:
        return f"{line.text}, shown as a range, since the number is withheld"
    if line.low is None or line.high is None or "(" in line.text:
        return line.text
    return f"{line.text}, 95% interval {span(text(line.low), text(line.high))}"


def _within(count: Any, total: Any) -> tuple[float, float] | None:
    """What a bound leaves open, within a shown total; None for a number, or without a total."""
    if not isinstance(count, str) or not isinstance(total, int):
        return None
    bound = int(count[1:])
    return (1.0, float(bound - 1)) if count[0] == "<" else (float(bound + 1), float(total))


def _bounds(evidence: Evidence, of: str = "") -> tuple[float | None, float | None]:
    """The interval of the number whose name the names of its bounds begin with."""
    return _number_or_none(evidence.get(f"{of}low")), _number_or_none(evidence.get(f"{of}high"))


def _number_or_none(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None
