"""WordNet: the nouns of a ``dict`` folder, below their hypernyms or their holonyms."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audit.base.errors import AuditError, InputError, SchemaError, refuse_unknown
from audit.base.machine import require_package
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    hierarchy_of,
    reading_of,
)
from audit.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from audit.hierarchies.formats.wordnet_nltk import WordReader

RELATIONS = {
    "hypernym": ("hypernyms", "instance_hypernyms"),
    "holonym": ("part_holonyms", "member_holonyms", "substance_holonyms"),
    "kind_hypernym": ("hypernyms",),
    "part_holonym": ("part_holonyms",),
}
"""Pointers of the relations that edges may stand for: the parent is a wider notion (``canine`` of
``dog``), or a whole (``France`` of ``Paris``); the last two leave out those of single instances,
and wholes by member or substance."""
_FILES = ("data.noun", "index.noun")


@dataclass(frozen=True, eq=False)
class WordNet:
    """The nouns of a WordNet as plain tables.

    Args:
        lemmas: Words of each synset in their order, as written, with a blank for each ``_``.
        senses: Synsets of each word in lower case, the most frequent sense first.
        edges: ``child, parent`` for each of `RELATIONS`.
    """

    path: Path
    lemmas: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]
    edges: Mapping[str, tuple[EdgeRow, ...]]

    def hierarchy(self, relation: str = "hypernym") -> Hierarchy:
        """The hierarchy of all noun synsets by one relation; every synset is assignable.

        Nodes are synset names such as ``dog.n.01``; titles are their words, joined by ``", "``.
        Synsets without a parent, with holonyms most of them, are put under one synthetic root.

        Raises:
            InputError: On an unknown relation.
            HierarchyError: On a cycle, naming a shortest one. WordNet 3.0 has none.
        """
        refuse_unknown(relation, RELATIONS, "a relation of WordNet", "relations")
        nodes = [
            Entry(synset, ", ".join(lemmas), assignable=True)
            for synset, lemmas in self.lemmas.items()
        ]
        with reading_of(self.path):
            return hierarchy_of(self.path, nodes, self.edges[relation], declared="once")


def matches(path: Path, head: bytes = b"") -> bool:
    """Whether a folder holds the noun files of a WordNet."""
    return all((path / name).is_file() for name in _FILES)


def read_wordnet(path: Path) -> WordNet:
    """Read the nouns of a WordNet ``dict`` folder, such as Debian's ``/usr/share/wordnet``.

    Nothing is downloaded, and only ``data.noun`` and ``index.noun`` are read. This takes about
    seven seconds for the 82,115 noun synsets of WordNet 3.0.

    Raises:
        InputError: If the folder is not a WordNet, or nltk is not installed.
        SchemaError: If its files are not as WordNet writes them.
    """
    if not matches(path):
        raise InputError(
            "a WordNet folder is required, with data.noun and index.noun",
            found="a folder without them" if path.is_dir() else "no folder",
            where=path,
            hint="Debian's package wordnet-base installs one as /usr/share/wordnet",
        )
    require_package("nltk", "to read WordNet")
    from audit.hierarchies.formats.wordnet_nltk import WordReader

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return _tables(path, WordReader(path, _FILES))
    except AuditError:
        raise
    except Exception as error:  # nltk raises what it stumbles over in a broken file, or warns
        raise SchemaError(
            "data.noun and index.noun must be as WordNet writes them",
            found=f"{type(error).__name__}: {error}".rstrip(": "),
            where=path,
        ) from None


def _tables(path: Path, reader: WordReader) -> WordNet:
    synsets = [*reader.all_synsets("n")]
    edges = {
        relation: tuple(
            (synset.name(), parent.name())
            for synset in synsets
            for pointer in pointers
            for parent in getattr(synset, pointer)()
        )
        for relation, pointers in RELATIONS.items()
    }
    words = {one.name(): one.lemma_names() for one in synsets}
    return WordNet(
        path,
        {name: tuple(one.replace("_", " ") for one in own) for name, own in words.items()},
        {lemma.replace("_", " "): tuple(names) for lemma, names in reader.senses().items()},
        edges,
    )


def read(path: Path, shape: Shape) -> Hierarchy:
    """The hierarchy of a WordNet folder by hypernyms, or by the relation that is stated.

    Pointers that lead nowhere are refused: the file is damaged.
    """
    relation, *others = shape.relations or ("hypernym",)
    if others:
        found = ", ".join(shape.relations)
        raise InputError("one relation of WordNet is required", found=found)
    return read_wordnet(path).hierarchy(relation)


FORMAT = HierarchyFormat(
    "wordnet", "a WordNet folder: data.noun and index.noun", matches, read, frozenset({"relations"})
)
