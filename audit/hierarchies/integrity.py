"""Integrity: properties of a classification's codes that reveal damaged labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Integrity:
    """Properties of a classification's codes, by which checks recognise damaged labels.

    A check that needs a property which is None or empty is not applicable.

    Args:
        table_of: The code set that a node belongs to by its shape; None for a range.
        readings: The ids that a label may stand for in a code set (None: in any), whether or not
            they are nodes.
        tables: Code sets whose codes can be mistaken for one another.
        zero_tables: Code sets whose codes may start with 0.
        never_a_code: Whether a node is a heading that was not a code in any edition.
        editions: Edition of each code set that the classification lists completely.
        other_version: Whether a label has the shape of a code of another version only.
        never_first: Why a node, given with its title, must not be first; None if it may.
    """

    table_of: Callable[[str], str | None]
    readings: Callable[[str, str | None], tuple[str, ...]]
    tables: tuple[str, ...] = ()
    zero_tables: tuple[str, ...] = ()
    never_a_code: Callable[[str], bool] | None = None
    editions: Mapping[str, str] = field(default_factory=dict)
    other_version: Callable[[str], bool] | None = None
    never_first: Callable[[str, str], str | None] | None = None
