"""Metrics as they may be shared, of all instances and of scopes that lie within each other."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from audit.disclosure import is_small, shown_count, to_step

SHARES = ("accuracy", "accuracy_alignment", "recovered", "lost")
"""Metrics that are a count divided by n, so that the value discloses a count."""


NET = ("accuracy_alignment", "recovered", "lost")
"""Metrics of which two disclose the third."""
_OF_MISTAKES = (*NET, "mistake_severity")
"""Metrics whose n is how many answers are wrong."""
_OVER_CUTS = ("f1", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
"""Metrics that sum what is right over all cuts, where each instance has one answer."""

_MASS = ("residual_from", "residual_to")
"""Mean mass outside a cut: how many answers lie above it, where each is one node."""
_OF_SUMS = ("hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
"""Ratios of sums over nodes, which an exact ratio would tell."""
_OF_BITS = ("uncertainty_alignment", "abstraction_match")
"""Sums of entropies: where each instance is sure or has the same one, how many are not sure."""

Family: TypeAlias = tuple[str, ...]
"""Counts that are shown together or not at all: a word, and what it is of."""
_SIZE: Family = ("size",)
_NONE = 1e-6
"""A sum of entropies below this is none."""
ALL = "all"
"""The scope of all instances."""


@dataclass(frozen=True)
class Scopes:
    """How the scopes of metrics lie beside each other.

    Args:
        above: The scopes above each scope, but for the whole.
        apart: Whether scopes of which none is above the other share no instance.
        supports: How many instances carry the node of each scope; the others are withheld. None:
            nothing is known of them.
    """

    above: Mapping[str, Collection[str]] = field(default_factory=dict)
    apart: bool = False
    supports: Mapping[str, int] | None = None


def shared_metrics(
    metrics: Sequence[Mapping[str, Any]], min_cell: int, scopes: Scopes | None = None
) -> list[dict[str, Any]]:
    """Metrics as published: withheld if n, or a count that values disclose, is small.

    A count is one of a scope, or of what remains of a scope beside those within it. The finest cut
    at which counts may be shown is first, then each coarser one that differs by none or enough.
    """
    if min_cell <= 1:
        return [dict(metric) for metric in metrics]
    published = _Published(metrics, min_cell, scopes or Scopes())
    return [_shown(metric, published) for metric in metrics]


def _shown(metric: Mapping[str, Any], published: _Published) -> dict[str, Any]:
    m, n = published.min_cell, metric["n"]
    small = is_small(n, m) or _bounds_few(metric, m)
    told = in_decimals(metric, published.whole(metric), m)
    small = small or (
        metric["name"] in _OF_BITS and told["value"] in {0.0, 1.0} - {metric["value"]}
    )
    if not small and published.all_of(metric, published.needs(metric)):
        return told
    hidden = {**metric, **dict.fromkeys(("value", "low", "high"))}
    if published.all_of(metric, published.needs_of_n(metric)):
        return {**hidden, "n": shown_count(n, [], m)}
    if metric["name"] in _OF_MISTAKES or not n:
        return {**hidden, "n": None}  # bounds of parts would tell much of a sum
    bound = shown_count(n, published.known_sizes(metric["scope"]), m)
    return {**hidden, "n": bound if isinstance(bound, str) else f">{m - 1}"}


def in_decimals(metric: Mapping[str, Any], whole: float, min_cell: int) -> dict[str, Any]:
    """A metric; a ratio of sums with so few decimals that it fits every sum that it may have.

    A sum is at least n; of any number from 10 ** d some share rounds to each number of d decimals.
    Of single answers other metrics tell parts of the sums: there steps leave ``min_cell`` of them,
    and so do they of entropies.

    Args:
        whole: What the sum is divided by: n, or the bits that an `abstraction_match` is a share of.
    """
    numbers = [name for name, value in metric.items() if isinstance(value, float)]
    in_steps = (*_OF_SUMS, *_MASS, *_OF_BITS, "mistake_severity")
    if min_cell <= 1 or not whole or metric["name"] not in in_steps:
        return dict(metric)
    if "threshold" in metric["parameters"]:
        return {**metric, **{k: round(metric[k], int(math.log10(whole))) for k in numbers}}
    return {**metric, **{k: to_step(metric[k], min_cell / whole) for k in numbers}}


def whole_of(metric: Mapping[str, Any], beside: Iterable[Mapping[str, Any]]) -> float:
    """What a metric's sum is divided by: n, or bits that another metric of its scope tells."""
    if metric["name"] != "abstraction_match":
        return float(metric["n"])
    return sum(_bits({_key(one): one for one in beside}, _said(metric)))


def _bounds_few(metric: Mapping[str, Any], min_cell: int) -> bool:
    """Whether a mean of numbers that are 1 where all is right bounds how few are not, or are."""
    value, n = metric["value"], metric["n"]
    mean = metric["name"] in (*_OVER_CUTS, *_MASS)
    sums = (value * n, (1 - value) * n) if mean and value is not None and n else ()
    return any(0 < part < min_cell for part in sums)


class _Published:
    """The families of counts that may be shown of each scope."""

    def __init__(self, metrics: Sequence[Mapping[str, Any]], min_cell: int, scopes: Scopes) -> None:
        self.min_cell, self._scopes = min_cell, scopes
        self._rows: dict[str, dict[Family, Mapping[str, Any]]] = {}
        for metric in metrics:
            self._rows.setdefault(metric["scope"], {})[_key(metric)] = metric
        self._cuts = _cuts(metrics)
        self._of: dict[Family, set[str]] = {}
        everywhere = [ALL, *sorted(self._rows.keys() - {ALL}, key=self._place)]
        candidates = [s for s in everywhere if s in self._rows and self._support(s) is not None]
        self._of[_SIZE] = self._accepted(_SIZE, candidates)
        self._tell_cuts(candidates)
        for metric in metrics:
            for family in (*self.needs(metric), *self.needs_of_n(metric)):
                if family not in self._of and family[0] != "cut":
                    able = [s for s in candidates if self._may_try(s, family)]
                    self._of[family] = self._accepted(family, able)

    def all_of(self, metric: Mapping[str, Any], families: Collection[Family]) -> bool:
        """Whether these counts are shown of a metric's scope."""
        return all(metric["scope"] in self._of.get(family, ()) for family in families)

    def known_sizes(self, scope: str) -> list[int]:
        """The number of instances of a scope, where it is published."""
        return [self._size(scope)] if scope in self._of[_SIZE] else []

    def needs(self, metric: Mapping[str, Any]) -> list[Family]:
        """The counts that a metric tells with its value."""
        name, needed = metric["name"], self.needs_of_n(metric)
        if name == "accuracy":
            return [*needed, ("cut", _cut(metric))]
        if name == "ties" and "subgraphs" not in metric["parameters"]:
            return [*needed, ("ties", _said(metric))]
        if name in NET:
            fine, coarse = _from(metric), _cut(metric)
            moved = [("moved", fine, coarse)] if name != "accuracy_alignment" else []
            own = [] if self._cuts else [("share", name, _said(metric))]
            return [*needed, *self._known_cuts(coarse), *moved, *own]
        if name in _OF_BITS:
            left = [("bits left", _said(metric))] if name == "abstraction_match" else []
            return [*needed, ("bits", _said(metric)), *left]
        if name in _OVER_CUTS or name == "mistake_severity":
            return [*needed, *self._known_cuts(*self._cuts)]
        return needed

    def needs_of_n(self, metric: Mapping[str, Any]) -> list[Family]:
        """The counts that a metric tells with its n."""
        if "subgraphs" in metric["parameters"]:
            return [_SIZE, ("subgraphs", *sorted(map(str, metric["parameters"]["subgraphs"])))]
        if metric["name"] in _OF_MISTAKES:
            cut = _from(metric) or next(iter(self._cuts), "")
            return [_SIZE, *self._known_cuts(cut), ("mistakes", *_key(metric))]
        return [_SIZE, ("n", *_key(metric))]

    def whole(self, metric: Mapping[str, Any]) -> float:
        """What a metric's sum is divided by."""
        return whole_of(metric, self._rows[metric["scope"]].values())

    def _known_cuts(self, *cuts: str) -> list[Family]:
        return [("cut", cut) for cut in cuts if cut in self._cuts]

    def _place(self, scope: str) -> tuple[int, int, str]:
        """Scopes above others come first, then larger ones."""
        return len(self._scopes.above.get(scope, ())), -self._size(scope), scope

    def _size(self, scope: str) -> int:
        own = (m["n"] for m in self._rows[scope].values() if m["name"] not in _OF_MISTAKES)
        return max(own, default=0)

    def _support(self, scope: str) -> int | None:
        """Instances that carry the node of a scope; None where it is withheld."""
        known = self._scopes.supports
        return self._size(scope) if known is None or scope == ALL else known.get(scope)

    def _may_try(self, scope: str, family: Family) -> bool:
        needed = [_SIZE, *(self._known_cuts(*family[1:]) if family[0] == "moved" else ())]
        return all(scope in self._of.get(one, ()) for one in needed)

    def _tell_cuts(self, candidates: Sequence[str]) -> None:
        """From the finest cut on; a coarser one is shown of scopes where the last one is."""
        able = [scope for scope in candidates if scope in self._of[_SIZE]]
        for cut in self._cuts:
            accepted = self._accepted(("cut", cut), able)
            self._of["cut", cut] = accepted if ALL in accepted else set()
            if ALL in accepted:
                able = [scope for scope in able if scope in accepted]

    def _accepted(self, family: Family, candidates: Sequence[str]) -> set[str]:
        """Scopes of which counts may be shown, and with them what remains of those above."""
        counts, rest = dict[str, list[float]](), dict[str, list[float]]()
        for scope in candidates:
            own = list(self._counts(scope, family))
            held = [one for one in (ALL, *self._scopes.above.get(scope, ())) if one in counts]
            closest = max(held, key=lambda one: len(self._scopes.above.get(one, ())), default=None)
            if closest is None or not self._scopes.apart:
                beside = [_less(counts[one], own) for one in held]
            else:
                beside = [_less(rest[closest], own)]
            if not all(self._safe(n) for some in (own, *beside) for n in some):
                continue
            counts[scope] = rest[scope] = own
            if closest is not None and self._scopes.apart:
                rest[closest] = beside[0]
        return set(counts)

    def _safe(self, count: float) -> bool:
        return abs(count) < _NONE or count >= self.min_cell

    def _counts(self, scope: str, family: Family) -> Iterator[float]:
        """The counts of a family, the same in each scope that has them."""
        kind, *of = family
        rows = self._rows[scope]
        if kind == "size":
            yield from _parted(self._size(scope), self._support(scope) or 0)
        elif kind == "n":
            yield from _parted(_n(rows.get(tuple(of))), self._size(scope))
        elif kind == "mistakes":
            yield from self._mistakes(scope, _n(rows.get(tuple(of))))
        elif kind == "cut":
            yield from self._right(scope, of[0])
        elif kind == "moved":
            yield from _moved(rows, of[0], of[1])
        elif kind in ("bits", "bits left"):
            yield _bits(rows, of[0])[kind == "bits left"]
        elif kind == "subgraphs":
            yield from _preferring(rows, of)
        else:
            row = rows.get(tuple(of) if kind == "share" else ("ties", of[0]))
            yield from _parted(abs(_counted(row)), _n(row))

    def _mistakes(self, scope: str, n: int) -> Iterator[int]:
        """Wrong answers, and by how many those differ that an accuracy tells."""
        yield n
        for cut in filter(lambda cut: self._of["cut", cut], self._cuts):
            known = scope in self._of["cut", cut]
            _, wrong, *_ = self._right(scope, cut) if known else (0, n)
            yield abs(wrong - n)

    def _right(self, scope: str, cut: str) -> Iterator[int]:
        """Right and wrong answers at a cut, and by how many a finer one that is shown differs."""
        rows = [row for row in self._rows[scope].values() if row["name"] == "accuracy"]
        right = {_cut(row): (abs(_counted(row)), _n(row)) for row in rows}
        own = right.get(cut, (0, 0))
        yield from _parted(*own)
        for finer in self._cuts[: self._cuts.index(cut)]:
            if self._of.get(("cut", finer)):
                yield abs(own[0] - right.get(finer, (0, 0))[0])


def _less(whole: Sequence[float], part: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(whole, part, strict=True)]


def _parted(count: int, whole: int) -> tuple[int, int]:
    return count, whole - count


def _said(metric: Mapping[str, Any]) -> str:
    return json.dumps(metric["parameters"], sort_keys=True, default=str)


def _key(metric: Mapping[str, Any]) -> Family:
    return metric["name"], _said(metric)


def _cut(metric: Mapping[str, Any]) -> str:
    return _parameter(metric, "depth_to", "level_to")


def _from(metric: Mapping[str, Any]) -> str:
    return _parameter(metric, "depth_from", "level_from")


def _parameter(metric: Mapping[str, Any], *names: str) -> str:
    return next((f"{name[:5]} {metric['parameters'][name]}" for name in names
                 if name in metric["parameters"]), "")  # fmt: skip


def _cuts(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    """Cuts of accuracies, the finest first."""
    return sorted({_cut(row) for row in metrics if row["name"] == "accuracy"}, key=_number)


def _number(cut: str) -> int:
    """Deeper first, and lower levels first."""
    kind, _, number = cut.partition(" ")
    return -int(number or 0) if kind == "depth" else int(number or 0)


def _n(metric: Mapping[str, Any] | None) -> int:
    return 0 if metric is None else int(metric["n"])


def _counted(metric: Mapping[str, Any] | None) -> int:
    """The count that a value is, or is a share of n."""
    if metric is None or metric["value"] is None:
        return 0
    whole = 1 if metric["name"] == "ties" else int(metric["n"])
    return round(float(metric["value"]) * whole)


def _moved(rows: Mapping[Family, Mapping[str, Any]], fine: str, coarse: str) -> Iterator[int]:
    """Wrong answers that a move makes right, those that it does not, and the reverse."""
    for name in ("recovered", "lost"):
        own = (r for r in rows.values() if (r["name"], _from(r), _cut(r)) == (name, fine, coarse))
        row = next(own, None)
        yield abs(_counted(row))
        if name == "recovered":
            yield _n(row) - abs(_counted(row))


def _bits(rows: Mapping[Family, Mapping[str, Any]], move: str) -> tuple[float, float]:
    """Sums of entropies: by how much the one of a fine cut is less or more above, and the rest."""
    change, match = (rows.get((name, move)) for name in _OF_BITS)
    if change is None or not change["value"]:
        return 0.0, 0.0
    moved = abs(change["value"]) * change["n"]
    share = abs((match or {}).get("value") or 1.0)
    return moved, moved * abs(1 / share - 1)


def _preferring(rows: Mapping[Family, Mapping[str, Any]], named: Sequence[str]) -> Iterator[int]:
    """Instances that prefer the first of two subgraphs, the second, neither, and all together."""
    own = [
        row
        for row in rows.values()
        if sorted(map(str, row["parameters"].get("subgraphs", ()))) == sorted(named)
    ]
    either = sorted(
        (str(row["parameters"]["subgraphs"]), _counted(row)) for row in own if row["name"] != "ties"
    )
    ties = next((_counted(row) for row in own if row["name"] == "ties"), 0)
    n = max(map(_n, own), default=0)
    preferring = [count for _, count in either][:2]
    preferring += [0] * (2 - len(preferring))
    yield from (*preferring, ties, n, n - sum(preferring) - ties)
