"""What a table may mean whose columns do not say what makes the hierarchy: readings tried on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from audit.base.errors import AuditError
from audit.base.readings import AskedError, Reading, as_typed, asked
from audit.base.table import Table
from audit.hierarchies.formats import edges, paths
from audit.hierarchies.formats.format import Shape

_COLUMNS = 12
"""Number of columns that are tried, the first ones."""
_OFFERED = 4
"""Number of readings that are offered."""


def offers(path: Path, table: Table) -> AskedError | None:
    """The question which of some readings makes the hierarchy: first one by which fewest nodes have
    further parents, since the wrong end of each edge as child gives most; then one of most nodes.
    """
    texts = dict([*edges.texts_of(table.frame()).items()][:_COLUMNS])
    if any(name in own for name, own in texts.items()):  # its first line is no header
        return None
    found = list[tuple[int, Reading, dict[str, Any]]]()
    for decision, stated in _ways(texts):
        read = paths.of_levels if "levels" in stated else edges.of_table
        try:
            made = read(path, table, Shape(**stated))
        except AuditError:
            continue
        options = {f"hierarchy_{name}": one for name, one in stated.items()}
        depth = f"depth {int(made.depth.max())}"
        reading = Reading(f"{decision}, {depth}", depth, len(made), as_typed(options), "nodes")
        found.append((made.edges.nnz - len(made), reading, options))
    best = sorted(found, key=lambda one: (one[0], -one[1].rows))[:_OFFERED]
    required = "it must be stated what makes the hierarchy"
    return asked(required, [one for _, one, _ in best], options=best[0][2]) if best else None


def _ways(texts: Mapping[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Columns of parents that are ids, and columns of paths: a clause, and what states it."""
    values = {name: {*own} - {""} for name, own in texts.items()}
    n = max(map(len, texts.values()), default=0)
    ids = [name for name, own in texts.items() if "" not in own and 2 * len(values[name]) > n]
    for child, parent in product(ids, texts):
        above = values[parent] - {"0", "-1"}
        same = sum(a == b for a, b in zip(texts[child], texts[parent], strict=True))
        known = 2 * len(above & values[child]) + (len(texts) == 2)
        if 2 * same < n and known > len(above) > 1:
            yield f"{parent!r} holds parents of {child!r}", {"child": child, "parent": parent}
    for name, cells in texts.items():
        if 2 * sum(paths.SIGN in one for one in cells) >= n > 0:
            for one in (one for one in ids if len(values[one]) == n and one != name):
                yield f"{name!r} holds paths to {one!r}", {"child": one, "levels": (name,)}
            yield f"{name!r} holds paths", {"levels": (name,)}
