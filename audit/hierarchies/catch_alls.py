"""Catch-all nodes among specific siblings: by their titles, and as reviewed by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from audit.base.dag import row
from audit.hierarchies.hierarchy import Hierarchy

Kind: TypeAlias = Literal["other", "unspecified"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_NAMED = (
    (re.compile(r"\b(other) than\b|\beach (other)\b"), " otherwise "),
    (re.compile(r"(?<!\bother) or unspecified(?: type)?\b|\bor unspecified type\b"), " "),
    (
        re.compile(
            r"\bunspecified as to episode of care(?: or not applicable)?"
            r"|\b(?:initial |subsequent )?episode of care(?: unspecified)?"
            r"|,? ?delivered ?, with (?:or without )?mention of (?:ante|post)partum \w+"
            r"|,? ?(?:ante|post)partum condition or complication"
        ),
        " ",
    ),
    (re.compile(r"\bnot stated as\b"), " unstated "),
)
"""Words of a catch-all that name something, and those that name the encounter and not the matter,
with what is read in their place."""
_MARK = re.compile(
    r"\bother\b(?: specified)?(?:(?: and| or) unspecified)?"
    r"|\bnot elsewhere (?:classified|specified)\b|\bnec\b"
    r"|\bunspecified\b|\bnot (?:otherwise )?specified\b|\bnos\b"
)
_UNSORTED = (
    "unlabeled", "unlabelled", "unidentified", "unclassified", "uncategorized", "uncategorised",
    "unknown", "undefined", "n/a",
)  # fmt: skip
"""Words that say that no class was chosen, also of a thing that only the root could name."""
_REST = "background"
"""A word for what no class names, if it stands alone below the root."""
WORDS = ("et cetera", "etc", "misc", "miscellaneous", "various", *_UNSORTED, _REST)
"""Further words of catch-alls, of titles that nobody has reviewed."""
_REPEATS_ITS_HEADING = re.compile(
    rf"(?:.*\b(?:with|of|in|to|by|on|from|for) )?(?:{_MARK.pattern})[^,]*|.*,? (?:{_MARK.pattern})"
)
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    _WORD.findall(
        "a an and any as at by for from in into no of on or so than that the to which whether "
        "condition disease disorder form kind manner part site specified sort type"
    )
)
"""Words that by themselves tell a node from no other."""


@dataclass(frozen=True, slots=True)
class Title:
    """A title, divided into what it names and its catch-all words.

    Args:
        words: Its words, without catch-all words and without words that carry no meaning alone.
        marks: Its catch-all words, such as "other" and "unspecified", in order.
        repeats: Whether, without the catch-all words, it may be the title of the heading above.
    """

    words: frozenset[str]
    marks: tuple[str, ...]
    repeats: bool = False

    @property
    def others(self) -> int:
        """Number of its marks of the kind ``other``."""
        return sum(map(_says_other, self.marks))


def _says_other(mark: str) -> bool:
    """Whether a mark says "other" or "not elsewhere", and not "unspecified"."""
    return re.match(r"other\b|not elsewhere|nec", mark) is not None


@lru_cache(maxsize=1 << 17)
def read_title(title: str) -> Title:
    """Divide a title into what it names and its catch-all words.

    >>> sorted(read_title("Other and unspecified hyperlipidemias").words)
    ['hyperlipidemia']
    >>> read_title("Ulcer, other than gastric; chronic or unspecified").marks
    ()
    """
    text = title.lower()
    for naming, instead in _NAMED:
        text = naming.sub(instead, text)
    marks = tuple(_MARK.findall(text))
    words = (_singular(word) for word in _WORD.findall(_MARK.sub(" ", text)))
    repeats = len(marks) == 1 and _REPEATS_ITS_HEADING.fullmatch(text.strip()) is not None
    return Title(frozenset(words) - _EMPTY, marks, repeats)


@cache
def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


def named(hierarchy: Hierarchy) -> Sequence[str]:
    """The titles of nodes; the nodes themselves where they are no codes and have no titles.

    The root may have one, since what has several tops is given a root.
    """
    titled = (index for index, title in enumerate(hierarchy.titles) if title)
    if hierarchy.coding is not None or any(index != hierarchy.root for index in titled):
        return hierarchy.titles
    return [node.replace("_", " ") for node in hierarchy.nodes]


def is_icd9(hierarchy: Hierarchy) -> bool:
    """Whether its nodes are codes of ICD-9-CM, whose titles were reviewed."""
    return hierarchy.coding is not None and hierarchy.coding.name.startswith("icd9")


class CatchAlls:
    """The nodes of a hierarchy that are catch-alls by their titles.

    A node is a catch-all if its title has more catch-all words than that of a sibling and, beyond
    its parent's title, names nothing that a sibling does not name too. Siblings that differ only in
    catch-all words are judged as one, against the siblings of their parent. For a heading without a
    title the titles of its children are used; a child whose title consists of catch-all words and
    one phrase repeats the heading, if it is the only such child of its kind.

    Headings between the categories and the codes of a complete ICD-9-CM count as untitled: they
    are worded apart from their codes ("Hyperaldosteronism" is above "Other secondary
    aldosteronism"), so that codes are compared with each other alone.

    Time grows with the nodes that have catch-all words times their siblings.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy, self._titles = hierarchy, named(hierarchy)
        self._given, self._implied = self._titles, dict[int, Title]()
        if is_icd9(hierarchy) and hierarchy.complete_tables:
            lists = zip(hierarchy.nodes, self._titles, hierarchy.assignable, strict=True)
            self._given = ["" if "." in node and not may else title for node, title, may in lists]

    def found(self, words: Sequence[str]) -> Iterator[tuple[int, Kind, str]]:
        """The assignable nodes that are catch-alls by their titles, or by one of some words.

        Yields index, kind and rule: ``title: other``, or ``word: misc`` where a word decides.
        """
        additional = (rf"|\b{re.escape(word.lower())}\b" for word in words)
        any_of = re.compile(_MARK.pattern + "".join(additional))
        for node in np.flatnonzero(self._hierarchy.assignable).tolist():
            if any_of.search(self._titles[node].lower()):
                if kind := self.kind(node):
                    marks = self._title(node).marks
                    of_kind = (mark for mark in marks if _says_other(mark) == (kind == "other"))
                    yield node, kind, f"title: {next(of_kind, marks[0])}"
                elif word := self._word(node, words):
                    yield node, "other", f"word: {word}"

    def kind(self, node: int) -> Kind | None:
        """The kind of catch-all that a node is among its siblings below any parent, or None."""
        title, level, met = self._title(node), [node], {node}
        while title.marks and level:
            judged = level.pop()
            for parent in row(self._hierarchy.edges, judged).tolist():
                siblings = self._siblings(judged, parent)
                if self._differs_from_sibling(title, parent, siblings):
                    if not self._names(title, parent, siblings):
                        fewest = min(one.others for one in siblings)
                        return "other" if title.others > fewest else "unspecified"
                elif parent not in met and all(one.words == title.words for one in siblings):
                    met.add(parent)
                    level.append(parent)
        return None

    def alone_below(self, heading: int) -> bool:
        """Whether a titled heading has children, each with more catch-all words and no new word."""
        children = row(self._hierarchy.child_matrix, heading).tolist()
        given = filter(None, (self._given[child].lower() for child in children))
        if not (self._titles[heading] and children and all(map(_MARK.search, given))):
            return False
        own = self._title(heading)
        return all(
            len(child.marks) > len(own.marks) and child.words <= own.words
            for child in map(self._says, children)
        )

    def _word(self, node: int, words: Sequence[str]) -> str | None:
        """The first of some words that makes a node a catch-all below a parent, or None."""
        title = self._titles[node].lower()
        for word in (one for one in words if re.search(rf"\b{re.escape(one.lower())}\b", title)):
            rest = read_title(title.replace(word.lower(), " ")).words
            for parent in row(self._hierarchy.edges, node).tolist():
                heading, at_top = self._heading(parent), parent == self._hierarchy.root
                says_no_more = rest <= heading or (word in _UNSORTED and at_top and len(rest) == 1)
                if word == _REST:
                    says_no_more = at_top and not rest
                named = (not one.words <= heading for one in self._siblings(node, parent))
                if says_no_more and any(named):
                    return word
        return None

    def _title(self, node: int) -> Title:
        """The `Title` of a node: words and marks; empty without one, or for an ignored heading."""
        return read_title(self._given[node])

    def _differs_from_sibling(self, title: Title, parent: int, siblings: list[Title]) -> bool:
        """Whether a sibling has fewer marks, or names something where the title names nothing."""
        if any(len(sibling.marks) < len(title.marks) for sibling in siblings):
            return True
        heading = self._heading(parent)
        return title.words <= heading and any(not one.words <= heading for one in siblings)

    def _siblings(self, node: int, parent: int) -> list[Title]:
        children = row(self._hierarchy.child_matrix, parent).tolist()
        return [self._says(child) for child in children if child != node]

    def _names(self, title: Title, parent: int, siblings: list[Title]) -> bool:
        """Whether it has words beyond its heading, not all in one sibling, and is no repetition."""
        beyond = title.words - self._heading(parent)
        if not beyond or any(beyond <= sibling.words for sibling in siblings):
            return False
        alone = title.repeats and not any(
            sibling.repeats and bool(sibling.others) == bool(title.others) for sibling in siblings
        )
        return not (alone and not self._given[parent])

    def _says(self, node: int) -> Title:
        """Its title; of a node without one all words of its children's, and their fewest marks."""
        if self._given[node]:
            return self._title(node)
        if node not in self._implied:
            children = row(self._hierarchy.child_matrix, node).tolist()
            titles = [self._title(child) for child in children]
            words = frozenset[str]().union(*(title.words for title in titles))
            fewest = min((title.marks for title in titles), key=len, default=())
            self._implied[node] = Title(words, fewest)
        return self._implied[node]

    def _heading(self, node: int) -> frozenset[str]:
        """Words of the nearest title at or above a node."""
        while not self._given[node]:
            above = row(self._hierarchy.edges, node)
            if not len(above):
                break
            node = int(above[0])
        return self._title(node).words


Decision: TypeAlias = Literal["other", "unspecified", "usual", "specific"]

DATA = Path(__file__).parent / "icd" / "data" / "icd9cm_residuals.csv"
"""Table ``nodes, title, decision, reason``: nodes with their descendants (empty: any), a pattern
that their titles match (empty: any), the decision, and why. A ``usual`` node is an
unspecified one that is the code to use where a record says no more."""


class Review(NamedTuple):
    """One decision of the table."""

    nodes: tuple[str, ...]
    title: re.Pattern[str]
    decision: Decision
    reason: str


@cache
def reviews() -> tuple[Review, ...]:
    """The decisions on ICD-9-CM, in order; the first that matches a node applies."""
    with DATA.open(encoding="utf-8", newline="") as stream:
        return tuple(
            Review(tuple(nodes.split()), re.compile(title), cast(Decision, decision), reason)
            for nodes, title, decision, reason in [*csv.reader(stream)][1:]
        )


@lru_cache(maxsize=4)
def reviewed(hierarchy: Hierarchy) -> Mapping[int, Review]:
    """The decision on each assignable node that has one, by index; empty outside ICD-9."""
    found = dict[int, Review]()
    titles = [title.lower() for title in hierarchy.titles]
    for review in reviews() if is_icd9(hierarchy) else ():
        known = (hierarchy.index(node) for node in review.nodes if node in hierarchy)
        below = (row(hierarchy.below, index).tolist() for index in known)
        for index in chain.from_iterable(below) if review.nodes else range(len(titles)):
            if hierarchy.assignable[index] and titles[index] and review.title.search(titles[index]):
                found.setdefault(index, review)
    return found
