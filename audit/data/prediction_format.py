"""The record that registers a format of prediction files, and the raw scores loaders return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import Sparse
from audit.data.class_names import Classes
from audit.data.sources import Source


@dataclass(frozen=True)
class RawPredictions:
    """Scores as read, before they are mapped to a hierarchy.

    Args:
        instances: Distinct ids in file order, shape (n_instances,); row numbers from 0 if the file
            has no ids.
        classes: Distinct names of the columns as written, shape (n_classes,).
        scores: Shape (n_instances, n_classes); dense for matrices, CSR for listed scores.
        set_valued: Whether the file only says which classes were predicted, without scores.
        sources: The files that were read.
        name: Name of the source, for messages.
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: NDArray[np.float64] | Sparse
    set_valued: bool
    sources: tuple[Path, ...]
    name: str = "predictions"


@dataclass(frozen=True)
class PredictionFormat:
    """One format of predictions.

    Args:
        name: What messages and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a source, or each part of a folder, is of this format.
        read: Reads a source; the second argument is the class names, or their file.
        of_folders: Whether ``matches`` judges a folder as a whole.
    """

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Classes | None], RawPredictions]
    of_folders: bool = False
