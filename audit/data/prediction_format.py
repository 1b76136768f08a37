"""The record that registers a format of prediction files, and what every such loader hands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import Sparse


@dataclass(frozen=True)
class RawPredictions:
    """Scores as read, before any hierarchy is asked.

    Args:
        instances: Ids in file order, each once; shape (n_instances,). The row number from 0 where
            the file has none.
        classes: Names of the columns as written, each once; shape (n_classes,).
        scores: Shape (n_instances, n_classes); dense where the file is, CSR where it lists scores.
        set_valued: Whether the file says which classes were predicted and nothing of how strongly.
        sources: The files that were read.
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: NDArray[np.float64] | Sparse
    set_valued: bool
    sources: tuple[Path, ...]


@dataclass(frozen=True)
class PredictionFormat:
    """One format of prediction files.

    Args:
        name: What messages and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a file is of it, from its path and its first bytes.
        read: Reads it; the second argument is the file of class names, a name a line.
    """

    name: str
    title: str
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, Path | None], RawPredictions]
