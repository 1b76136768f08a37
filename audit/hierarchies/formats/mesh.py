"""MeSH as it is published, a tree of headings, ASCII records, or XML of descriptors, and MedDRA."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from audit.base.errors import SchemaError, first_cases
from audit.base.files import first_bytes, open_bytes, read_lines, read_text
from audit.base.readings import Reading
from audit.hierarchies.coding import retired_ids
from audit.hierarchies.formats.format import (
    WITH_IDS,
    EdgeRow,
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy

_TREE = re.compile(r"(.+);([A-Z]\d\d(?:\.\d+)*)")


def is_mesh(path: Path, head: bytes) -> bool:
    """Whether lines are headings and tree numbers, or a file begins as records of MeSH do."""
    text = head_text(head)
    lines = [line.strip() for line in text.split("\n")[:-1] or [text] if line.strip()]
    tree = bool(lines) and all(map(_TREE.fullmatch, lines))
    return tree or text.startswith("*NEWRECORD") or "<DescriptorRecordSet" in text


def _read_mesh(path: Path, _: Shape) -> Hierarchy:
    """Read headings below those whose tree numbers theirs begin with.

    A heading is one node, with its id, or name where the file has none; a label may also be one of
    its tree numbers.
    """
    records = [*_RECORDS[_form(path)](path)]
    if not any(numbers for *_, numbers in records):
        raise SchemaError("headings with tree numbers are required", found="none", where=path)
    node_of = {number: id for id, _, numbers in records for number in numbers}
    several = sum(len(numbers) > 1 for *_, numbers in records)
    edges = [(node, node_of.get(n.rpartition(".")[0], "")) for n, node in node_of.items()]
    told = Reading(
        "headings at several places of the tree are one node", "they have several tree numbers",
        several, WITH_IDS, "headings",
    )  # fmt: skip
    every = titles_of((id, title) for id, title, _ in records)
    return hierarchy_of(
        path, [edge for edge in dict.fromkeys(edges) if all(edge)],
        [(node, title, True) for node, title in every.items()],
        coding=retired_ids(every, (), (), node_of), readings=[told] if several else [],
    )  # fmt: skip


_Record = tuple[str, str, Sequence[str]]
"""Id, title and tree numbers of a heading."""


def _form(path: Path) -> str:
    first = head_text(first_bytes(path))
    return "xml" if first.startswith("<") else "ascii" if first.startswith("*") else "tree"


def _of_tree(path: Path) -> Iterator[_Record]:
    numbers = defaultdict[str, list[str]](list)
    for line, text in read_lines(path):
        if (found := _TREE.fullmatch(text.strip())) is None:
            required = "a heading, a semicolon and its tree number are required"
            raise SchemaError(required, found=repr(text[:60]), where=f"{path}:{line}")
        numbers[found[1]].append(found[2])
    return ((name, name, own) for name, own in numbers.items())


def _of_ascii(path: Path) -> Iterator[_Record]:
    for record in read_text(path).split("*NEWRECORD")[1:]:
        said = re.findall(r"(?m)^(UI|MH|MN) = (.+?)\s*$", record)
        ids, titles = ([value for key, value in said if key == one] for one in ("UI", "MH"))
        if not (ids and titles):
            raise SchemaError("a record needs UI and MH", found=first_cases(record.split("\n")[:3]))
        yield ids[0], titles[0], [value for key, value in said if key == "MN"]


def _of_xml(path: Path) -> Iterator[_Record]:
    try:
        with open_bytes(path) as stream:
            for _, record in ElementTree.iterparse(stream):
                if record.tag == "DescriptorRecord":
                    name = record.findtext("DescriptorName/String", "").strip()
                    numbers = [one.text or "" for one in record.iter("TreeNumber")]
                    yield record.findtext("DescriptorUI", ""), name, numbers
                    record.clear()
    except ElementTree.ParseError as error:
        raise SchemaError("whole XML is required", found=str(error)) from None


_RECORDS: dict[str, Callable[[Path], Iterator[_Record]]] = {
    "tree": _of_tree, "ascii": _of_ascii, "xml": _of_xml,
}  # fmt: skip
MESH = HierarchyFormat(
    "mesh",
    "MeSH: mtrees, ASCII records or XML of descriptors",
    is_mesh,
    _read_mesh,
)

_MEDDRA = re.compile(r"(?:\d{8}\$){4}(?:[^$]+\$){4}[^$]*\$.*")


def is_meddra(path: Path, head: bytes) -> bool:
    """Whether lines are codes and names of a term and of three levels above it, between dollars."""
    lines = [line.strip() for line in head_text(head).split("\n")[:-1]]
    return bool(lines) and all(_MEDDRA.fullmatch(line) for line in lines if line)


def _read_meddra(path: Path, _: Shape) -> Hierarchy:
    """Read preferred terms below high-level terms, groups and system organ classes, all of a term
    that lies below several."""
    edges, titles = list[EdgeRow](), dict[str, str]()
    for line, text in read_lines(path):
        if not _MEDDRA.fullmatch(text.strip()):
            required = "four codes and their names between dollars are required"
            raise SchemaError(required, found=repr(text[:60]), where=f"{path}:{line}")
        cells = text.strip().split("$")
        edges += pairwise(cells[:4])
        for node, title in zip(cells[:4], cells[4:8], strict=True):
            titles.setdefault(node, title)
    nodes = [(node, title, None) for node, title in titles.items()]
    return hierarchy_of(path, [*dict.fromkeys(edges)], nodes)


MEDDRA = HierarchyFormat(
    "meddra", "mdhier.asc of MedDRA: a term and all above it", is_meddra, _read_meddra
)
