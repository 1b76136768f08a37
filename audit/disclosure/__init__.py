"""Small cells: what a published number may say, alone and beside all the others."""

from audit.disclosure.cells import (
    Cell,
    Release,
    carried,
    differing,
    labelled,
    labelled_below,
    labels_at,
    only_residual_below,
    together,
)
from audit.disclosure.change import shown_change
from audit.disclosure.protection import protected
from audit.disclosure.quantity import (
    Quantity,
    Shown,
    count,
    derived,
    is_small,
    least,
    shown,
    shown_count,
)

__all__ = [
    "Cell",
    "Quantity",
    "Release",
    "Shown",
    "carried",
    "count",
    "derived",
    "differing",
    "is_small",
    "labelled",
    "labelled_below",
    "labels_at",
    "least",
    "only_residual_below",
    "protected",
    "shown",
    "shown_change",
    "shown_count",
    "together",
]
