"""Reader of chosen senses: which node each specific answer denotes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once, read_text
from audit.hierarchies.hierarchy import Hierarchy


def read_senses(path: Path) -> Mapping[str, str | None]:
    """Read the node of each answer as written; None for an answer that denotes no node.

    Args:
        path: JSON: a list of pairs ``[answer, node]``, as the synset files released with
            *Abstraction Alignment* are, or an object ``{answer: node}``. A node may be null. An
            answer may be repeated: its last node that is not null counts.

    Raises:
        InputError: If the file cannot be read or is not JSON.
        SchemaError: If it holds something else, or nothing.
    """
    try:
        stated = json.loads(read_text(path), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise InputError("a JSON file is required", found=str(error), where=path) from None
    pairs = list(stated.items()) if isinstance(stated, dict) else stated
    wrong = [pair for pair in pairs if not _is_pair(pair)] if isinstance(pairs, list) else [stated]
    if wrong or not pairs:
        raise SchemaError(
            "pairs of an answer and its node, or null, are required",
            found=first_cases(map(repr, wrong)) or "none",
            where=path,
            hint='[["painter", "painter.n.01"], ["official", null]]',
        )
    chosen: dict[str, str | None] = {}
    for answer, node in pairs:
        chosen[answer] = node or chosen.get(answer)
    return chosen


def refuse_unknown_senses(
    senses: Mapping[str, str | None], hierarchy: Hierarchy, path: Path
) -> None:
    """Raise SchemaError if a chosen node is not in the hierarchy."""
    unknown = [f"{answer}: {node}" for answer, node in senses.items() if node
               and node not in hierarchy]  # fmt: skip
    if unknown:
        raise SchemaError(
            f"every chosen node must be in {hierarchy.name}",
            found=first_cases(unknown),
            where=path,
        )


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and (pair[1] is None or (isinstance(pair[1], str) and pair[1] != ""))
    )
