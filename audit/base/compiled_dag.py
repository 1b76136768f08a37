"""A loop over sparse rows, compiled by numba, with an equivalent in `audit.base.dag`.

Only that imports this module, and only where numba is installed and the work is worth the wait.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def first_shared(
    columns: NDArray[np.int32],
    starts: NDArray[np.int32],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The first column that both rows of each pair store, shape (n_pairs,); -1 where there is none.

    A row stores its columns, ascending, from its start, shape (n_rows + 1,), to that of the next.
    """
    found = np.full(len(a), -1, np.int64)
    for pair in range(len(a)):
        at_a, at_b = starts[a[pair]], starts[b[pair]]
        end_a, end_b = starts[a[pair] + 1], starts[b[pair] + 1]
        while at_a < end_a and at_b < end_b:
            of_a, of_b = columns[at_a], columns[at_b]
            if of_a == of_b:
                found[pair] = of_a
                break
            if of_a < of_b:
                at_a += 1
            else:
                at_b += 1
    return found
