"""The pairs of a table by their second node: an order of its rows, kept in the user's cache."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.disk import written_whole
from audit.base.errors import OutputError
from audit.base.files import sha256_of

MOST_KEPT = 20
"""Number of orders that are kept, the latest used ones."""


def order_by_second(table: Path, second: IntArray) -> NDArray[np.uint32]:
    """Rows of a table of pairs by their second nodes, those of one node as in the table.

    It is made once for a table, and kept in the user's cache by the table's digest. Where nothing
    can be kept it is made each time. A run is never written to.

    Args:
        table: The table, a Parquet file ordered by first and second nodes.
        second: Number of the second node of each row, shape (n_pairs,).
    """
    kept = cache() / f"{sha256_of(table)}.npy"
    with suppress(OSError, ValueError, EOFError):
        order: NDArray[np.uint32] = np.load(kept, mmap_mode="r", allow_pickle=False)
        if order.shape == second.shape and order.dtype == np.uint32:
            with suppress(OSError):
                os.utime(kept)
            return order
    order = in_order(second)
    with suppress(OSError, OutputError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_whole(kept) as begun, begun.open("wb") as file:
            np.save(file, order)
        others = sorted(kept.parent.glob("*.npy"), key=lambda path: -path.stat().st_mtime)
        for old in others[MOST_KEPT:]:
            old.unlink(missing_ok=True)
    return order


def cache() -> Path:
    """Folder of the user's cache that orders are kept in; others cannot read it."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return base / "hierarchy-audit" / "pairs"


def in_order(second: IntArray) -> NDArray[np.uint32]:
    """Rows sorted by their second nodes, those of one node as they are.

    By the two lower bytes, then by the upper ones: such sorts are the fastest by far.
    """
    order = np.argsort(second.astype(np.uint16), kind="stable").astype(np.uint32)
    upper = (second >> 16).astype(np.uint16)
    if upper.any():
        order = order[np.argsort(upper[order], kind="stable")]
    return order
