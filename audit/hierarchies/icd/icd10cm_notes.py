"""Notes of ICD-10-CM: codes that exclude each other, and codes that require a second one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audit.hierarchies.icd.icd10 import CATEGORY
from audit.hierarchies.notes import Companions, Exclusion, Exclusions
from audit.policy.rules import Companion

_WRITTEN = rf"{CATEGORY}(?:\.[0-9A-Z]{{0,4}})?"
_CODE = re.compile(rf"(?<![0-9A-Za-z]){_WRITTEN}(?![0-9A-Za-z])")
_OPEN_END = r"\.?-?"
"""``E11.-`` and ``M50.1.-`` are all codes that begin so, as is every code without it."""
_ITEM = re.compile(rf"({_WRITTEN}){_OPEN_END}(?:\s*(?:-|to)\s*({_WRITTEN}){_OPEN_END})?")
_BETWEEN = re.compile(r"[,;]|\b(?:and|or)\b")
_LAST_BRACKET = re.compile(r"\(([^()]*)\)*\s*$")


@dataclass(frozen=True, slots=True)
class Reference:
    """Codes from ``first`` to ``last`` in tabular order, each with its descendants."""

    first: str
    last: str


def references(text: str) -> tuple[Reference, ...]:
    """The codes and ranges that a note lists at its end, usually in brackets.

    Empty if the note names no code, or qualifies its codes ("E08-E13 with .44", "unless"), since it
    then excludes fewer codes than it names.

    >>> references("diabetes in pregnancy (E10.-, O24.0-O24.3)")
    (Reference(first='E10', last='E10'), Reference(first='O24.0', last='O24.3'))
    >>> references("diabetes (E08-E13 with .44)")
    ()
    """
    items = [item for part in _BETWEEN.split(_listing(text)) if (item := part.strip())]
    matches = [_ITEM.fullmatch(item) for item in items]
    return tuple(_reference(match) for match in matches if match) if all(matches) else ()


def _listing(text: str) -> str:
    """What should be nothing but a list of codes; empty where there is no code."""
    bracket = _LAST_BRACKET.search(text)
    if bracket and _CODE.search(bracket.group(1)):
        return bracket.group(1)
    first = _CODE.search(text)
    return text[first.start() :] if first else ""


def _reference(match: re.Match[str]) -> Reference:
    first, last = match.groups()
    return Reference(first.rstrip("."), (last or first).rstrip("."))


class Tabular:
    """A classification in its printed (tabular) order, in which ranges of codes are defined.

    Tabular order differs from alphabetical order: C4A comes between C43 and C44.

    Args:
        parents: The parent of each node, null for the root, in depth-first order: every node comes
            after its parent and after its earlier siblings with their descendants. Nodes with a
            dash are ranges, all others are codes.
    """

    def __init__(self, parents: dict[str, str | None]) -> None:
        self._parents = parents
        self._children: dict[str, list[str]] = {node: [] for node in parents}
        self._first: dict[str, int] = {}
        codes = 0
        for node, parent in parents.items():
            if parent is not None:
                self._children[parent].append(node)
            self._first[node] = codes
            codes += not is_range(node)
        self._last = dict(self._first)
        for node, parent in reversed(parents.items()):
            if parent is not None:
                self._last[parent] = max(self._last[parent], self._last[node])

    def __contains__(self, named: Reference) -> bool:
        """Whether both ends are codes of the classification."""
        return named.first in self._parents and named.last in self._parents

    def ranges(self, nodes: Iterable[str]) -> int:
        """Number of ranges among nodes and their children."""
        return sum(is_range(near) for node in nodes for near in (node, *self._children[node]))

    def covering(self, named: Reference, noted: str) -> Iterator[str]:
        """The smallest set of nodes that covers a reference, without the noted node.

        The noted node, its descendants and its ancestors are left out. Time grows with the number
        of nodes visited on the way down.
        """
        start, end = self._first[named.first], self._last[named.last]
        path = set(self._upwards(noted))
        waiting = [next(iter(self._parents))]
        while waiting:
            node = waiting.pop()
            first, last = self._first[node], self._last[node]
            if node == noted or last < start or first > end:
                continue
            if start <= first and last <= end and node not in path and not self._doubles(node):
                yield node
            else:
                waiting.extend(self._children[node])

    def _upwards(self, node: str) -> Iterator[str]:
        above: str | None = node
        while above is not None:
            yield above
            above = self._parents[above]

    def _doubles(self, node: str) -> bool:
        """Whether a node is a range of a single category, which stands for it."""
        return is_range(node) and len(self._children[node]) == 1


def is_range(node: str) -> bool:
    """Whether a node is a chapter or a block, not a code."""
    return "-" in node


def exclusions(tabular: Tabular, notes: Iterable[tuple[str, str]], *, release: str) -> Exclusions:
    """Parse the exclusion notes of a classification, given as ``node, text``, one note each.

    A note that names a code which the classification lacks is counted as not understood.
    """
    understood, unparsed = [], []
    for node, text in notes:
        named = references(text)
        if named and all(one in tabular for one in named):
            understood.append(_exclusion(tabular, node, text, named))
        else:
            unparsed.append((node, text))
    return Exclusions(release, tuple(understood), tuple(unparsed))


def _exclusion(tabular: Tabular, node: str, text: str, named: tuple[Reference, ...]) -> Exclusion:
    excluded = sorted({found for one in named for found in tabular.covering(one, node)})
    wide = is_range(node) or tabular.ranges(excluded) > 1
    return Exclusion(node, tuple(excluded), text, wide)


_CATEGORY = 3
"""Characters of a category."""
_CONDITION = re.compile(r"\b(?:if|such as|any|associated|known|unless)\b")
"""Words of a note that asks only at times, or names some codes of many."""
_UNDERLYING = re.compile(r"(?:the )?underlying\b")
"""Beginning of a note that unconditionally requires a cause."""
_ALWAYS_THERE = re.compile(
    r"code to (?:identify|specify) (?:the )?"
    r"(?:stage|severity|site|joint|limb|type of heart failure)\b"
)
"""Requirements of notes that the condition always meets, such as having a stage."""


def companions(
    tabular: Tabular,
    first: Iterable[tuple[str, str]],
    additional: Iterable[tuple[str, str]],
    *,
    release: str,
) -> Companions:
    """Read the notes that ask for a second code without a condition.

    Args:
        tabular: The classification.
        first: ``node, text`` of each “code first” note.
        additional: ``node, text`` of each “use additional code” note; each line is a note.
        release: Name of the release.

    A note becomes a rule if it requires the underlying disease and lists all possible ones, or
    requires something that the condition always has, such as the stage of a chronic kidney disease;
    there any code of the same category is enough, because the stage may be unspecified. All other
    notes are only counted: what they require ("if applicable", "such as") may rightly be absent.
    """
    rules, unread = [], 0
    for node, text, before in _notes(first, additional):
        needs = _needs(tabular, node, text, before)
        if needs:
            rules.append(_rule(node, needs, text, before, release))
        else:
            unread += 1
    return Companions(release, tuple(rules), unread)


def _notes(
    first: Iterable[tuple[str, str]], additional: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, bool]]:
    """``node, text``, and whether what is asked for stands before the noted code."""
    yield from ((node, text, True) for node, text in first)
    for node, text in additional:
        yield from ((node, line, False) for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    """The notes of a text: a line with what it lists, and with what it goes on to say."""
    note = ""
    for line in text.split("\n"):
        if note and re.match(r"(?:external cause )?code\b", line):
            yield note
            note = ""
        note = f"{note}\n{line}" if note else line
    if note:
        yield note


def _needs(tabular: Tabular, node: str, text: str, before: bool) -> tuple[str, ...]:
    """The codes that a note unconditionally requires; empty if there are none."""
    asks = _UNDERLYING if before else _ALWAYS_THERE
    if "\n" in text or _CONDITION.search(text) or not asks.match(text):
        return ()
    named = references(text)
    if not all(one in tabular for one in named):
        return ()
    wanted = named if before else [_categories(one) for one in named]
    return tuple(sorted({found for one in wanted for found in tabular.covering(one, node)}))


def _categories(named: Reference) -> Reference:
    return Reference(named.first[:_CATEGORY], named.last[:_CATEGORY])


def _rule(node: str, needs: tuple[str, ...], text: str, before: bool, release: str) -> Companion:
    asked = "Code first" if before else "Use additional"
    return Companion.model_validate(
        {
            "if": node,
            "needs": needs,
            "position": "before" if before else "any",
            "source": f"ICD-10-CM, release {release}, note at {node}: “{asked} {text}”.",
            "severity": "warning" if before else "note",
        }
    )
