"""Compile ``audit/hierarchies/icd/data/icd10cm.parquet`` and ``icd10cm_notes.parquet``.

    python scripts/compile_icd10cm.py

Needs the library simple-icd-10-cm, which has the tabular list of the CDC, a work of the United
States government. Compiled are the nodes in code-point order, and what the notes on other codes
mean. `scripts/compile_catch_alls.py` is run after it.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import polars as pl

from audit.hierarchies.icd.built_in import ICD10CM_NODES, ICD10CM_NOTES
from audit.hierarchies.icd.icd10 import CATEGORY

ROOT = "ICD-10-CM"
Range = tuple[str, str]
"""The first and the last of codes in tabular order, each with all below it."""

_TITLED_RANGE = re.compile(r"(.+) \((\S+)\)")
_WRITTEN = rf"{CATEGORY}(?:\.[0-9A-Z]{{0,4}})?"
_CODE = re.compile(rf"(?<![0-9A-Za-z]){_WRITTEN}(?![0-9A-Za-z])")
_OPEN_END = r"\.?-?"
"""``E11.-`` and ``M50.1.-`` are all codes that begin so, as is every code without it."""
_ITEM = re.compile(rf"({_WRITTEN}){_OPEN_END}(?:\s*(?:-|to)\s*({_WRITTEN}){_OPEN_END})?")
_BETWEEN = re.compile(r"[,;]|\b(?:and|or)\b")
_LAST_BRACKET = re.compile(r"\(([^()]*)\)*\s*$")
_CONDITION = re.compile(r"\n|\b(?:if|such as|any|associated|known|unless)\b")
"""What a note has that asks only at times, or names some codes of many."""
_UNDERLYING = re.compile(r"(?:the )?underlying\b")
"""Beginning of a note that unconditionally requires a cause."""
_ALWAYS_THERE = re.compile(
    r"code to (?:identify|specify) (?:the )?"
    r"(?:stage|severity|site|joint|limb|type of heart failure)\b"
)
"""Requirements of notes that the condition always meets, such as having a stage."""
_NEXT_NOTE = re.compile(r"\n(?=(?:external cause )?code\b)")


class Node(NamedTuple):
    """A node and its notes."""

    node: str
    parent: str | None
    title: str
    excludes1: Sequence[str] = ()
    code_first: str = ""
    use_additional: str = ""


def compiled() -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The nodes, their notes on other codes, and how many ask for what may rightly be absent."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import simple_icd_10_cm as library
    names = " ".join(entry.name for entry in files("simple_icd_10_cm.data").iterdir())
    (release,) = (name.replace("-", " ") for name in re.findall(r"code-list-(\S+)\.txt", names))
    nodes = [Node(ROOT, None, f"ICD-10-CM, release {release}"), *_nodes(library)]
    listed = pl.DataFrame([node[:3] for node in nodes], Node._fields[:3], orient="row").sort("node")
    place = pl.int_range(len(listed), dtype=pl.Int32, eager=True)
    listed = listed.with_columns(
        pl.col("parent").replace_strict(listed["node"], place, default=None),
        assignable=~pl.col("node").is_in(listed["parent"].drop_nulls().implode()),
    )
    tabular = Tabular({node.node: node.parent for node in nodes})
    excluding = [_excluding(tabular, node.node, text) for node in nodes for text in node.excludes1]
    asking = [*_asking(tabular, nodes, f"ICD-10-CM, release {release}")]
    notes = [*sorted(excluding, key=lambda note: note[0] == "unparsed"), *filter(None, asking)]
    names = ["kind", "node", "codes", "text", "wide"]
    return listed, pl.DataFrame(notes, names, orient="row"), asking.count(None)


def main() -> None:
    """Write the tables; the same library gives the same contents."""
    nodes, notes, unread = compiled()
    small: dict[str, Any] = {"compression_level": 22, "statistics": False}
    nodes.write_parquet(ICD10CM_NODES, **small)
    notes.write_parquet(ICD10CM_NOTES, metadata={"unread": str(unread)}, **small)


def is_range(node: str) -> bool:
    """Whether a node is a chapter or a block, not a code."""
    return "-" in node


def _nodes(library: Any) -> Iterator[Node]:
    """Every node but the root, in tabular order.

    Chapters are called after their range, and a block of a single category too (``B20-B20``): the
    library lists both under the category's name, the block first. A block that is only a heading
    (``C00-C75``) has no children in the library; here the blocks within its range hang under it.
    """
    headings: list[str] = []
    seen: set[str] = set()
    for name in library.get_all_codes(True):
        first = name not in seen
        seen.add(name)
        title, parent = library.get_description(name, first), library.get_parent(name, first)
        bare, _, bracket = _TITLED_RANGE.sub(r"\1\n\2", title).partition("\n")
        if "." in name:
            node = name
        elif library.is_chapter(name):
            node, parent, title = bracket, ROOT, bare
            headings = [node]
        elif first and library.is_block(name):
            node, title = _range(name), bare
            while headings[-1].partition("-")[2] < node.partition("-")[2]:
                headings.pop()
            parent = headings[-1]
            if library.is_leaf(name, first):
                headings.append(node)
        else:
            node, parent = name, _range(parent)
        code_first = library.get_code_first(name, prioritize_blocks=first)
        additional = library.get_use_additional_code(name, prioritize_blocks=first)
        excludes = library.get_excludes1(name, first)
        yield Node(node, parent, title, excludes, code_first, additional)


def _range(name: str) -> str:
    return name if is_range(name) else f"{name}-{name}"


class Tabular:
    """A classification in its printed order, in which ranges of codes are defined.

    It is not that of the alphabet: C4A comes between C43 and C44. The parents of nodes, null for
    the root, are given in it.
    """

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents, self._children = parents, defaultdict[str | None, list[str]](list)
        self._first: dict[str, int] = {}
        codes = 0
        for node, parent in parents.items():
            self._children[parent].append(node)
            self._first[node] = codes
            codes += not is_range(node)
        self._last = dict(self._first)
        for node, parent in reversed(parents.items()):
            if parent is not None:
                self._last[parent] = max(self._last[parent], self._last[node])

    def has(self, named: Sequence[Range]) -> bool:
        """Whether there are ranges, and all their ends are codes of the classification."""
        return bool(named) and all(end in self._parents for ends in named for end in ends)

    def ranges(self, nodes: Iterable[str]) -> int:
        """Number of ranges among nodes and their children."""
        return sum(is_range(near) for node in nodes for near in (node, *self._children[node]))

    def covering(self, named: Sequence[Range], noted: str) -> list[str]:
        """The fewest nodes that cover ranges, but for a noted node and those above and below it."""
        above, node = {noted}, self._parents[noted]
        while node is not None:
            above.add(node)
            node = self._parents[node]
        found = (self._within(ROOT, self._first[a], self._last[b], noted, above) for a, b in named)
        return sorted({node for nodes in found for node in nodes})

    def _within(
        self, node: str, start: int, end: int, noted: str, above: set[str]
    ) -> Iterator[str]:
        first, last, below = self._first[node], self._last[node], self._children[node]
        if node == noted or last < start or first > end:
            return
        stands_for_another = is_range(node) and len(below) == 1
        if start <= first and last <= end and node not in above and not stands_for_another:
            yield node
        else:
            for child in below:
                yield from self._within(child, start, end, noted, above)


def references(text: str) -> list[Range]:
    """The codes and ranges that a note lists at its end, usually in brackets.

    Empty if the note names no code, or qualifies its codes ("E08-E13 with .44", "unless"), since it
    then excludes fewer codes than it names.

    >>> references("diabetes in pregnancy (E10.-, O24.0-O24.3)")
    [('E10', 'E10'), ('O24.0', 'O24.3')]
    >>> references("diabetes (E08-E13 with .44)")
    []
    """
    bracket, code = _LAST_BRACKET.search(text), _CODE.search(text)
    listing = text[code.start() :] if code else ""
    if bracket and _CODE.search(bracket[1]):
        listing = bracket[1]
    items = [_ITEM.fullmatch(item.strip()) for item in _BETWEEN.split(listing) if item.strip()]
    found = [(item[1].rstrip("."), (item[2] or item[1]).rstrip(".")) for item in items if item]
    return found if len(found) == len(items) else []


Note = tuple[str, str, Sequence[str], str, bool]
"""A row of the table of notes."""


def _excluding(tabular: Tabular, node: str, text: str) -> Note:
    """An exclusion; one that names a code which the classification lacks is not understood."""
    if not tabular.has(named := references(text)):
        return "unparsed", node, (), text, False
    codes = tabular.covering(named, node)
    return "excludes", node, codes, text, is_range(node) or tabular.ranges(codes) > 1


def _asking(tabular: Tabular, nodes: Sequence[Node], source: str) -> Iterator[Note | None]:
    """The notes that ask for a second code; None for one that asks with a condition.

    A note asks without one if it requires the underlying disease and lists all possible ones, or
    requires something that the condition always has, such as the stage of a chronic kidney disease;
    there any code of the same category is enough, because the stage may be unspecified. What others
    require ("if applicable", "such as") may rightly be absent.
    """
    asked = [(one.node, one.code_first, "before", "Code first") for one in nodes if one.code_first]
    for one in nodes:
        texts = _NEXT_NOTE.split(one.use_additional)
        asked += [(one.node, text, "any", "Use additional") for text in filter(None, texts)]
    for node, text, place, verb in asked:
        always = (_UNDERLYING if place == "before" else _ALWAYS_THERE).match(text)
        named = references(text) if always and not _CONDITION.search(text) else []
        end = None if place == "before" else 3
        wanted = [(first[:end], last[:end]) for first, last in named] if tabular.has(named) else []
        codes = tabular.covering(wanted, node)
        said = f"{source}, note at {node}: “{verb} {text}”."
        yield (place, node, codes, said, False) if codes else None


if __name__ == "__main__":
    main()
