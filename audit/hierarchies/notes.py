"""Notes of a classification: which codes exclude each other, and which require a second one."""

from __future__ import annotations

from dataclasses import dataclass

from audit.policy.rules import Companion


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One note of a classification: a code at or below its node excludes certain others.

    Args:
        node: The node that has the note, which applies to its descendants too.
        excluded: Nodes that the note names, with their descendants; none is an ancestor or a
            descendant of ``node``. Empty if it only names codes at or below ``node``.
        text: The note as published.
        wide: Whether it belongs to a range of categories, or names more than one such range.
    """

    node: str
    excluded: tuple[str, ...]
    text: str
    wide: bool


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The exclusion notes of one release of a classification.

    Args:
        release: Name of the release.
        notes: Notes whose codes are understood.
        unparsed: ``node, text`` of notes that name no codes, or name them with conditions.
    """

    release: str
    notes: tuple[Exclusion, ...]
    unparsed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Companions:
    """The notes of one release of a classification that require a second code.

    Args:
        release: Name of the release.
        rules: The unconditional requirements.
        unread: Number of notes that are conditional or name no codes.
    """

    release: str
    rules: tuple[Companion, ...]
    unread: int = 0
