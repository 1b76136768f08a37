"""Ratios of sums, which have no value where nothing was counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import FloatArray


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> FloatArray:
    """Each part over its whole, NaN where the whole is not above 0; shape as given.

    >>> ratio(np.array([1, 0, 3]), np.array([4, 0, 2])).tolist()
    [0.25, nan, 1.5]
    """
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0))
