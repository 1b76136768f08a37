"""What differs between the models of two runs, and what of it may be shared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from audit.disclosure import is_small, shown_change, shown_count, withheld_last
from audit.results.record import Record
from audit.results.shared_metrics import ALL, NET, SHARES, in_decimals, shared_metrics, whole_of

SHOWN = 20
"""Largest number of rows of each ranked table of a comparison; the restricted tables hold all."""
_Row = dict[str, Any]
_HIDDEN: _Row = dict.fromkeys(("new", "difference", "low", "high"))

State: TypeAlias = Literal["same", "differ", "alike", "only_old", "only_new"]
"""Of the predictions: the same; different; not known to be the same, since files differ, although
every number counted of them is equal; or in one run only."""


@dataclass(frozen=True, eq=False)
class ModelChanges:
    """What differs between the models of two runs.

    Args:
        predictions: Whether the predictions are the same.
        common: Instances with predictions in both runs; None if they do not both keep some.
        scores_differ: Those of them with another score; None if that is unknown.
        answers_differ: Those of them with other predicted labels; None if that is unknown.
        metrics: ``name, scope, parameters`` (JSON), ``old, new, difference, low, high`` (null where
            undefined, or in one run only) and ``n_old, n_new``; a row per metric of either run.
        confusions: See `audit.runs.compare.confusion_changes.CONFUSIONS`.
        family: Number of confused pairs that were tested.
    """

    predictions: State
    common: int | None
    scores_differ: int | None
    answers_differ: int | None
    metrics: pl.DataFrame
    confusions: pl.DataFrame
    family: int

    @property
    def metrics_in_all_changed(self) -> int:
        """Number of metrics over all instances whose interval of the difference does not hold 0."""
        beyond = (pl.col("low") > 0) | (pl.col("high") < 0)
        return len(self.metrics.filter(beyond & (pl.col("scope") == ALL)))

    @property
    def confusions_changed(self) -> pl.DataFrame:
        """Pairs that changed at the false-discovery rate."""
        return self.confusions.filter("changed")


class SharedModel:
    """Builder of the part of a comparison on models that may be shared."""

    def __init__(self, old: Record, new: Record, changes: ModelChanges, min_cell: int) -> None:
        self._runs, self._changes, self._min_cell = (old, new), changes, min_cell
        self._matched = _matched(old), _matched(new)

    def view(self) -> _Row:
        """The content of ``model`` in ``comparison.json``."""
        changes = self._changes
        all_of_them = changes.metrics.filter(pl.col("scope") == ALL)
        return {
            "predictions": changes.predictions,
            "common": changes.common,
            "scores_differ": self._part(changes.scores_differ),
            "answers_differ": self._part(changes.answers_differ),
            "metrics": {
                "total": len(all_of_them),
                "changed": changes.metrics_in_all_changed,
                "rows": self._metrics(list(all_of_them.iter_rows(named=True))),
            },
            "confusions": {
                "family": changes.family,
                "changed": len(changes.confusions_changed),
                "rows": self._confusions(),
            },
        }

    def _part(self, count: int | None) -> int | str | None:
        """A count among the instances that both runs have."""
        if count is None:
            return None
        return shown_count(count, [self._changes.common or 0], self._min_cell)

    def _metrics(self, rows: list[_Row]) -> list[_Row]:
        exact = _of_side("old", rows), _of_side("new", rows)
        old, new = map(self._of_run, self._runs, exact)
        wholes = (map(whole_of, both, exact) for both in zip(*exact, strict=True))
        shown = [
            self._metric(row, before, after, min(filter(None, whole), default=0))
            for row, before, after, whole in zip(rows, old, new, wholes, strict=True)
        ]
        torn = {_move(row) for row in shown if row["name"] in NET and _withheld(row)}
        return [
            {**row, **_HIDDEN} if row["name"] in NET and _move(row) in torn else row
            for row in shown
        ]

    def _of_run(self, run: Record, metrics: list[_Row]) -> list[_Row]:
        """The metrics of one run as its own report shows them, beside ties and what has no cut."""
        beside = () if run.model is None else run.model.beside
        own = [one for one in beside if one["scope"] == ALL]
        return shared_metrics([*metrics, *own], self._min_cell)[: len(metrics)]

    def _metric(
        self, row: _Row, old: Mapping[str, Any], new: Mapping[str, Any], whole: float
    ) -> _Row:
        n_old, n_new = row["n_old"], row["n_new"]
        sizes = n_old, n_new
        if n_old is not None and n_new is not None:
            sizes = shown_change(n_old, n_new, *self._matched, self._min_cell)
            alone = _bound(old["n"], n_old), _bound(new["n"], n_new)
            sizes = sizes if all(isinstance(n, int) for n in alone) else alone
        shown = {
            "name": row["name"],
            "parameters": json.loads(row["parameters"]),
            "old": old["value"],
            "new": new["value"],
            **{name: row[name] for name in ("difference", "low", "high")},
            "n_old": sizes[0],
            "n_new": sizes[1],
        }
        torn = any(row[when] is not None and shown[when] is None for when in ("old", "new"))
        if torn or (row["name"] in SHARES and self._tells_few(row, sizes)):
            return {**shown, **_HIDDEN}
        return in_decimals(shown, whole, self._min_cell)

    def _tells_few(self, row: _Row, sizes: tuple[Any, Any]) -> bool:
        """Whether two shares tell a small difference of the counts that they are made of."""
        if any(isinstance(n, str) for n in sizes):
            return True
        if row["difference"] is None:
            return False
        counts = [round(row[when] * row[f"n_{when}"]) for when in ("old", "new")]
        return is_small(abs(counts[1] - counts[0]), self._min_cell)

    def _confusions(self) -> list[_Row]:
        changes = self._changes
        tested = changes.common is not None
        rows = (changes.confusions_changed if tested else changes.confusions).head(SHOWN)
        few = self._labelled_by_few(rows)
        shown = (
            self._confusion(row, hidden=(row["a"], row["b"]) in few)
            for row in rows.iter_rows(named=True)
        )
        return withheld_last(shown, "difference", "a", "b")

    def _confusion(self, row: _Row, *, hidden: bool) -> _Row:
        counts = row["co_predicted_old"], row["co_predicted_new"]
        shown = shown_change(*counts, *self._matched, self._min_cell)
        hidden = hidden or any(isinstance(count, str) for count in shown)
        titles = {**self._runs[0].titles, **self._runs[1].titles}
        names = ("old", "new", "difference", "low", "high", "p_value", "q_value")
        return {
            "a": row["a"],
            "title_a": titles.get(row["a"]),
            "b": row["b"],
            "title_b": titles.get(row["b"]),
            **{name: None if hidden else row[name] for name in names},
        }

    def _labelled_by_few(self, rows: pl.DataFrame) -> set[tuple[str, str]]:
        """Pairs of labels that so few instances carry that no number of theirs is shown."""
        few: set[tuple[str, str]] = set()
        for run in self._runs:
            joint = run.pairs.select("a", "b", "joint").join(
                rows.lazy().select("a", "b"), on=["a", "b"], how="semi"
            )
            supports = dict(run.nodes.select("node", "support").iter_rows())
            for a, b, count in joint.collect().iter_rows():
                shown = shown_count(count, [supports[a], supports[b]], self._min_cell)
                few |= {(a, b)} if isinstance(shown, str) else set()
        return few


def _of_side(when: str, rows: Sequence[_Row]) -> list[_Row]:
    """The metrics of one run, as it measured them."""
    return [
        {
            "name": row["name"],
            "scope": row["scope"],
            "parameters": json.loads(row["parameters"]),
            "value": row[when],
            "n": row[f"n_{when}"] or 0,
        }
        for row in rows
    ]


def _bound(shown: int | str | None, n: int) -> int | str:
    """What a run shows of a number, and that it is none or some where that is withheld."""
    return (">0" if n else 0) if shown is None else shown


def _matched(run: Record) -> int:
    predictions = run.ledger["predictions"]
    return 0 if predictions is None else int(predictions["instances_matched"])


def _move(row: Mapping[str, Any]) -> str:
    return json.dumps(row["parameters"], sort_keys=True)


def _withheld(row: Mapping[str, Any]) -> bool:
    return row["new"] is None and row["n_new"] is not None
