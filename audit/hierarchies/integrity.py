"""Integrity: what a classification can tell of its codes, beside where they belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Integrity:
    """The questions that the codes of a classification answer, so that damage to them shows.

    What is None or empty has no answer here; the check that asks for it is then not applicable.

    Args:
        table_of: The code set that a node belongs to by its shape; None for a range.
        readings: The ids that a label may stand for in a code set, or in any where that is None;
            ids that are no node among them.
        tables: Code sets that a label can be taken for one another in.
        zero_tables: Code sets whose codes may start with 0.
        never_a_code: Whether a node is a heading that no edition ever assigned.
        editions: The edition of each code set that the classification itself lists completely.
        other_version: Whether a label has the shape of a code of another version alone.
        never_first: Why a node, given with its title, may not stand first; None where it may.
    """

    table_of: Callable[[str], str | None]
    readings: Callable[[str, str | None], tuple[str, ...]]
    tables: tuple[str, ...] = ()
    zero_tables: tuple[str, ...] = ()
    never_a_code: Callable[[str], bool] | None = None
    editions: Mapping[str, str] = field(default_factory=dict)
    other_version: Callable[[str], bool] | None = None
    never_first: Callable[[str, str], str | None] | None = None
