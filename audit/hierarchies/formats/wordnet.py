"""WordNet: the nouns of a ``dict`` folder, below their hypernyms or their holonyms."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from audit.base.errors import AuditError, InputError, SchemaError, refuse_unknown
from audit.base.files import read_bytes
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return _noun_tables(path, nltk_reader(path, _FILES))
    except AuditError:
        raise
    except Exception as error:  # nltk raises what it stumbles over in a broken file, or warns
        raise SchemaError(
            "data.noun and index.noun must be as WordNet writes them",
            found=f"{type(error).__name__}: {error}".rstrip(": "),
            where=path,
        ) from None


def nltk_reader(folder: Path, files: Collection[str] | None = None) -> Any:
    """nltk's reader of WordNet, of some files of any folder (None: all); others appear empty.

    nltk wants a folder that is registered as its data, with a file ``lexnames`` that Debian's
    package lacks: here lexicographer files are numbered.
    """
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import PathPointer, SeekableUnicodeStreamReader

    numbered = b"".join(b"%02d file%02d 1\n" % (number, number) for number in range(100))

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            """A stream of a file, empty if it is left out; ``lexnames`` is made up, of numbers."""
            there = (files is None or file in files) and (folder / file).is_file()
            content = read_bytes(folder / file) if there else b""
            content = numbered if file == "lexnames" else content
            return SeekableUnicodeStreamReader(BytesIO(content), "utf8")

        def map_wn(self, version: str = "wordnet") -> None:
            """Other versions, which only other languages need."""

    never_opened = dict.fromkeys(("open", "join", "file_size"))
    return Reader(type("Nowhere", (PathPointer,), never_opened)(), omw_reader="no other language")


def _noun_tables(path: Path, reader: Any) -> WordNet:
    """The nouns that a reader of nltk has; ``path`` is only kept."""
    synsets = {one.name(): one for one in reader.all_synsets("n")}
    edges = {
        relation: tuple(
            (name, parent.name())
            for name, synset in synsets.items()
            for pointer in pointers
            for parent in getattr(synset, pointer)()
        )
        for relation, pointers in RELATIONS.items()
    }
    words = {name: (*map(_spaced, one.lemma_names()),) for name, one in synsets.items()}
    offsets = {_spaced(word): found["n"] for word, found in reader._lemma_pos_offset_map.items()}
    by_offset = partial(reader.synset_from_pos_and_offset, "n")
    senses = {word: tuple(by_offset(at).name() for at in own) for word, own in offsets.items()}
    return WordNet(path, words, senses, edges)


def _spaced(word: str) -> str:
    return word.replace("_", " ")


def read(path: Path, shape: Shape) -> Hierarchy:
    """The hierarchy of a WordNet folder by hypernyms, or by the relation that is stated.

    Pointers that lead nowhere are refused: the file is damaged.
    """
    if len(shape.relations) > 1:
        found = ", ".join(shape.relations)
        raise InputError("one relation of WordNet is required", found=found)
    return read_wordnet(path).hierarchy(*shape.relations)


FORMAT = HierarchyFormat(
    "wordnet", "a WordNet folder: data.noun and index.noun", matches, read, frozenset({"relations"})
)
