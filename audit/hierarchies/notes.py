"""Notes of a classification: which codes exclude each other, and which ask for a second one."""

from __future__ import annotations

from dataclasses import dataclass

from audit.policy.rules import Companion


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One note of a classification: a code at or below its node excludes certain others.

    Args:
        node: The node that has the note; it holds for all below.
        excluded: Nodes that the note names, with all below them; none is on a path through
            ``node``. Empty where it names nothing but codes at or below ``node``.
        text: The note as published.
        wide: Whether it stands at a whole range of categories, or names more than one such range.
    """

    node: str
    excluded: tuple[str, ...]
    text: str
    wide: bool


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The exclusion notes of one release of a classification.

    Args:
        release: What the release is called.
        notes: Those whose codes are understood.
        unparsed: ``node, text`` of those that name no codes, or name them with conditions.
    """

    release: str
    notes: tuple[Exclusion, ...]
    unparsed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Companions:
    """The notes of one release of a classification that ask for a second code.

    Args:
        release: What the release is called.
        rules: What they ask for in any case.
        unread: How many ask with a condition, or name no codes.
    """

    release: str
    rules: tuple[Companion, ...]
    unread: int = 0
