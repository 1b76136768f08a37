"""Disclosure control: suppress small cells in each published number and in all of them together."""

from audit.results.disclosure.cells import (
    Cell,
    LabelSet,
    Release,
    carried,
    differing,
    labelled,
    labelled_below,
    labels_at,
    only_residual_below,
    together,
)
from audit.results.disclosure.change import shown_change
from audit.results.disclosure.earlier import Earlier
from audit.results.disclosure.parts import opened_parts
from audit.results.disclosure.protection import left_possible, protected
from audit.results.disclosure.quantity import (
    BESIDE,
    WHOLE,
    Quantity,
    Shown,
    coarse,
    count,
    derived,
    is_small,
    least,
    looser,
    most,
    shown,
    shown_count,
    shown_in_steps,
    shown_parts,
    tightened,
)
from audit.results.disclosure.sight import seen_whole

__all__ = [
    "BESIDE",
    "WHOLE",
    "Cell",
    "Earlier",
    "LabelSet",
    "Quantity",
    "Release",
    "Shown",
    "carried",
    "coarse",
    "count",
    "derived",
    "differing",
    "is_small",
    "labelled",
    "labelled_below",
    "labels_at",
    "least",
    "left_possible",
    "looser",
    "most",
    "only_residual_below",
    "opened_parts",
    "protected",
    "seen_whole",
    "shown",
    "shown_change",
    "shown_count",
    "shown_in_steps",
    "shown_parts",
    "tightened",
    "together",
]
