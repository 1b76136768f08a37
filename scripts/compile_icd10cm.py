"""Compile ``audit/hierarchies/icd/data/icd10cm.parquet`` and ``icd10cm_notes.parquet``.

    python scripts/compile_icd10cm.py

Needs the library simple-icd-10-cm, which has the tabular list of the CDC, a work of the United
States government. Compiled are the nodes in code-point order, and what the notes on other codes
mean. `scripts/compile_catch_alls.py` is run after it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from audit.base import dag
from audit.hierarchies.coding import Companions, Exclusion, Exclusions
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD10CM_NODES, ICD10CM_NOTES, icd10cm_rules
from audit.hierarchies.icd.icd10 import CATEGORY
from audit.policy.rules import Companion

ROOT = "ICD-10-CM"

_CODE_LIST = re.compile(r"code-list-(.+)\.txt")
_TITLED_RANGE = re.compile(r"(.+) \((\S+)\)")

_WRITTEN = rf"{CATEGORY}(?:\.[0-9A-Z]{{0,4}})?"
_CODE = re.compile(rf"(?<![0-9A-Za-z]){_WRITTEN}(?![0-9A-Za-z])")
_OPEN_END = r"\.?-?"
"""``E11.-`` and ``M50.1.-`` are all codes that begin so, as is every code without it."""
_ITEM = re.compile(rf"({_WRITTEN}){_OPEN_END}(?:\s*(?:-|to)\s*({_WRITTEN}){_OPEN_END})?")
_BETWEEN = re.compile(r"[,;]|\b(?:and|or)\b")
_LAST_BRACKET = re.compile(r"\(([^()]*)\)*\s*$")


class _Node(NamedTuple):
    node: str
    parent: str | None
    title: str
    excludes1: list[str]
    code_first: str = ""
    use_additional: str = ""


def compiled() -> Hierarchy:
    """The classification as the library has it."""
    library, release = _library()
    nodes = [_Node(ROOT, None, f"ICD-10-CM, release {release}", []), *_nodes(library)]
    frame = pl.DataFrame(
        [node[:3] for node in nodes], schema=["node", "parent", "title"], orient="row"
    )
    edges = frame.select(pl.col("node").alias("child"), "parent").drop_nulls()
    tabular = Tabular({node.node: node.parent for node in nodes})
    notes = ((node.node, text) for node in nodes for text in node.excludes1)
    return replace(
        Hierarchy.build(edges, frame.drop("parent"), name="icd10cm", **icd10cm_rules(release)),
        exclusions=exclusions(tabular, notes, release=release),
        companions=companions(
            tabular,
            [(node.node, node.code_first) for node in nodes if node.code_first],
            [(node.node, node.use_additional) for node in nodes if node.use_additional],
            release=release,
        ),
    )


def main() -> None:
    """Write the tables; the same library gives the same contents."""
    hierarchy = compiled()
    assert hierarchy.exclusions is not None
    assert hierarchy.companions is not None
    above = [dag.row(hierarchy.edges, index).tolist() for index in range(len(hierarchy))]
    nodes = pl.DataFrame(
        {
            "node": hierarchy.nodes,
            "parent": pl.Series(
                [parent[0] if parent else None for parent in above], dtype=pl.Int32
            ),
            "title": hierarchy.titles,
            "assignable": hierarchy.assignable,
        }
    )
    exclusions, companions = hierarchy.exclusions, hierarchy.companions
    notes = [
        *(
            ("excludes", note.node, note.excluded, note.text, note.wide)
            for note in exclusions.notes
        ),
        *(("unparsed", node, (), text, False) for node, text in exclusions.unparsed),
        *((r.position, r.asking[0], r.needed, r.source, False) for r in companions.rules),
    ]
    table = pl.DataFrame(notes, ["kind", "node", "codes", "text", "wide"], orient="row")
    _write(nodes, ICD10CM_NODES)
    _write(table, ICD10CM_NOTES, unread=str(companions.unread))


def _write(table: pl.DataFrame, path: Path, **stated: str) -> None:
    table.write_parquet(path, compression_level=22, statistics=False, metadata=stated)
    print(f"{path}: {len(table):,} rows, {path.stat().st_size:,} bytes")


def _library() -> tuple[Any, str]:
    """The library, and the release that its files are named after: ``April 2026``."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import simple_icd_10_cm
    names = (entry.name for entry in files("simple_icd_10_cm.data").iterdir())
    (release,) = (match.group(1) for name in names if (match := _CODE_LIST.fullmatch(name)))
    return simple_icd_10_cm, release.replace("-", " ")


def _nodes(library: Any) -> Iterator[_Node]:
    """Every node but the root, in tabular order.

    Chapters are called after their range, and a block of a single category too (``B20-B20``): the
    library lists both under the category's name, the block first. A block that is only a heading
    (``C00-C75``) has no children in the library; here the blocks within its range hang under it.
    """
    headings: list[str] = []
    seen: set[str] = set()
    for name in library.get_all_codes(True):
        range_first = name not in seen
        seen.add(name)
        title = library.get_description(name, range_first)
        parent = library.get_parent(name, range_first)
        notes = (
            library.get_excludes1(name, range_first),
            library.get_code_first(name, prioritize_blocks=range_first),
            library.get_use_additional_code(name, prioritize_blocks=range_first),
        )
        if "." in name:
            yield _Node(name, parent, title, *notes)
        elif library.is_chapter(name):
            title, chapter = _titled_range(title)
            headings = [chapter]
            yield _Node(chapter, ROOT, title, *notes)
        elif range_first and library.is_block(name):
            block = _range(name)
            while not _reaches(headings[-1], block):
                headings.pop()
            yield _Node(block, headings[-1], _titled_range(title)[0], *notes)
            if library.is_leaf(name, range_first):
                headings.append(block)
        else:
            yield _Node(name, _range(parent), title, *notes)


def _reaches(outer: str, inner: str) -> bool:
    """Whether a range goes at least as far as one that does not begin before it."""
    return outer.partition("-")[2] >= inner.partition("-")[2]


def _titled_range(title: str) -> tuple[str, str]:
    """A title and the range in the bracket that ends it."""
    match = _TITLED_RANGE.fullmatch(title)
    return (match.group(1), match.group(2)) if match else (title, "")


def _range(name: str) -> str:
    return name if is_range(name) else f"{name}-{name}"


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


if __name__ == "__main__":
    main()
