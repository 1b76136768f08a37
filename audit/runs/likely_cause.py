"""Why labels are not nodes of a hierarchy: causes tried on the labels, the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial

from audit.base.errors import InputError
from audit.data.mapping import place
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import BUILT_IN

MOSTLY = 0.5
"""Share of refused rows, or classes, above which a cause is taken for the cause."""

_SHORT = 60
"""Characters of the longest label that is preferred as an example."""
Rows = Mapping[str, int]
Explains = Callable[[str], bool]


def likely_cause(rows: Rows, hierarchy: Hierarchy) -> str:
    """What explains most of the rows of refused labels, as a sentence without its full stop.

    Args:
        rows: Number of rows of each label.
        hierarchy: The hierarchy that lacks them.
    """
    total = sum(rows.values())
    for said, explains in _causes(rows, hierarchy):
        explained = {label: n for label, n in rows.items() if explains(label)}
        if sum(explained.values()) > MOSTLY * total:
            first = max(explained, key=lambda label: (len(label) <= _SHORT, len(label), label))
            return said.format(rows=sum(explained.values()), total=total, first=first)
    return "another classification, or another version of it, may be meant"


def _causes(rows: Rows, hierarchy: Hierarchy) -> Iterator[tuple[str, Explains]]:
    tried = ", as '{first}' shows ({rows:,} of {total:,} of these rows)"
    for said, form, texts in (
        ("may be titles, where codes are required", _plain, hierarchy.titles),
        ("differ from nodes in upper and lower case", str.casefold, hierarchy.nodes),
        ("differ from nodes in dots, blanks or dashes", _plain, hierarchy.nodes),
    ):
        yield f"the labels {said}{tried}", partial(_is_in, form, {*map(form, texts)} - {""})
    numbers = {int(label) for label in rows if label.isdecimal()}
    if numbers and len(numbers) > MOSTLY * (max(numbers) + 1):
        yield "the labels are numbers of classes, perhaps: --classes FILE names them", str.isdecimal
    yield from _other_hierarchies(rows, hierarchy)
    integrity = None if hierarchy.coding is None else hierarchy.coding.integrity
    if integrity is not None and integrity.years is not None:
        said = (
            f"the labels are shaped like codes of {hierarchy.name}, but no edition has them{tried}"
        )
        yield said, lambda label: bool(integrity.readings(label, None))


def _is_in(form: Callable[[str], str], texts: Container[str], label: str) -> bool:
    return form(label.strip()) in texts


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _is_node(text: str, hierarchy: Hierarchy) -> bool:
    found = place(text, None, hierarchy)
    return found.node is not None and found.parent is None


def _other_hierarchies(rows: Rows, hierarchy: Hierarchy) -> Iterator[tuple[str, Explains]]:
    """The other built-in hierarchies, where labels have digits and so may be their codes."""
    digits = sum(n for label, n in rows.items() if any(map(str.isdecimal, label)))
    if digits <= MOSTLY * sum(rows.values()):
        return
    for known in BUILT_IN:
        if known.name != hierarchy.name:
            try:
                other = known.load()
            except InputError:  # its library is not installed
                continue
            yield (
                f"--hierarchy {known.name} has {{rows:,}} of {{total:,}} of these rows",
                partial(_is_node, hierarchy=other),
            )
