"""“Code first” and “use additional code” notes of ICD-10-CM: from their sentences to rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from audit.hierarchies.icd.exclusions import Reference, Tabular, references
from audit.hierarchies.notes import Companions
from audit.policy.rules import Companion

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
