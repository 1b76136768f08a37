"""The metrics of a model, each declared once: for runs, commands, reports and `audit.metrics`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Needs: TypeAlias = Literal["answer", "answers", "scores", "subgraphs", "sets", "a metric"]
"""One answer an instance; any number; scores; two subgraphs to compare; sets of nodes only; that
the metric is measured which it stands beside."""
Kind: TypeAlias = Literal["share", "net", "ratio", "mean", "bits", "height", "count"]
"""Share of instances; difference of two shares; ratio of sums over instances; mean over instances
of shares, of entropies in bits, of heights in edges; number of instances."""
Better: TypeAlias = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Args:
        name: As in ``result.json``; that of its function in `audit.metrics`.
        title: What it is.
        needs: What predictions it is measured of.
        kind: What its value is.
        source: Where it is defined; empty: nowhere in particular.
        better: Which values are better.
    """

    name: str
    title: str
    needs: Needs
    kind: Kind
    source: str = ""
    better: Better = "higher"

    @property
    def heading(self) -> str:
        """Name of the metric in tables, with the unit of its value."""
        if self.needs == "a metric":
            return self.title
        unit = {"bits": " (bits)", "height": " (levels)"}.get(self.kind, "")
        return self.name.replace("_", " ").capitalize().replace("f1", "F1") + unit

    @property
    def decimals(self) -> int | None:
        """Decimals of bits, heights and counts; None of other kinds, which are in per cent."""
        return {"bits": 3, "height": 2, "count": 0}.get(self.kind)


_NET, _DROP = "Abstraction Alignment, equation 1", "Abstraction Alignment, equation 2"
_PREFERENCE, _SETS = "Abstraction Alignment, equation 3", "Kiritchenko et al."
_RELEASED, _MISTAKES = "the code of Abstraction Alignment", "Making Better Mistakes"
ALL = "all"
"""The scope that holds every instance; any other scope is a node id."""
METRICS: tuple[Metric, ...] = (
    Metric("accuracy", "Accuracy at a depth of the hierarchy", "answer", "share"),
    Metric("f1", "F1 of labels, of their parents and of branches", "answers", "ratio"),
    Metric(
        "accuracy_alignment", "Net share of errors that moving up resolves", "answer", "net", _NET
    ),
    Metric("recovered", "Share of errors that moving up makes right", "answer", "share", _NET),
    Metric(
        "lost",
        "Right answers that moving up makes wrong, over errors",
        "answer",
        "share",
        _NET,
        better="lower",
    ),
    Metric(
        "uncertainty_alignment",
        "Change of entropy on moving up, in bits",
        "scores",
        "bits",
        _DROP,
        better="lower",
    ),
    Metric(
        "abstraction_match", "Relative drop of entropy on moving up", "scores", "ratio", _RELEASED
    ),
    Metric(
        "subgraph_preference",
        "Preference for one subgraph over another",
        "subgraphs",
        "share",
        _PREFERENCE,
        better="neither",
    ),
    Metric("hierarchical_precision", "Precision with all ancestors", "sets", "mean", _SETS),
    Metric("hierarchical_recall", "Recall with all ancestors", "sets", "mean", _SETS),
    Metric("hierarchical_f1", "F1 with all ancestors", "sets", "mean", _SETS),
    Metric(
        "mistake_severity",
        "Height at which mistakes and labels meet",
        "answer",
        "height",
        _MISTAKES,
        better="lower",
    ),
)
"""Every metric, in report order."""
BESIDE: tuple[Metric, ...] = (
    Metric("ties", "Tied answers", "a metric", "count", better="neither"),
    Metric("residual_from", "Mass above the deeper cut", "a metric", "mean", better="neither"),
    Metric("residual_to", "Mass above the shallower cut", "a metric", "mean", better="neither"),
)
"""Numbers that help to read some of them."""
