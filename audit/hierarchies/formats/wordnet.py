"""WordNet: the nouns of a ``dict`` folder, below their hypernyms or their holonyms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.base.errors import AuditError, InputError, SchemaError
from audit.hierarchies.formats.format import EdgeRow, HierarchyFormat, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from audit.hierarchies.formats.wordnet_nltk import NounReader

RELATIONS = ("hypernym", "holonym")
"""What a parent may be: a wider notion (``dog`` in ``canine``), or a whole (``Paris`` in
``France``)."""

_FILES = ("data.noun", "index.noun")
_POINTERS = {
    "hypernym": ("hypernyms", "instance_hypernyms"),
    "holonym": ("part_holonyms", "member_holonyms", "substance_holonyms"),
}


@dataclass(frozen=True, eq=False)
class WordNet:
    """The nouns of a WordNet as plain tables.

    Args:
        path: The folder they were read from.
        lemmas: Words of each synset, as written, ``_`` as a blank; the synset's first word first.
        senses: Synsets of each word in small letters, the most frequent sense first.
        edges: ``child, parent`` of each of `RELATIONS`.
    """

    path: Path
    lemmas: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]
    edges: Mapping[str, tuple[EdgeRow, ...]]

    def hierarchy(self, relation: str = "hypernym") -> Hierarchy:
        """All noun synsets below their parents of one relation; each is assignable.

        Nodes are synset names such as ``dog.n.01``; titles are their words, joined by ``", "``.
        Synsets without a parent hang under one synthetic root: of holonyms, most.

        Raises:
            InputError: On an unknown relation.
            HierarchyError: On a cycle, with a shortest one. WordNet 3.0 has none in either.
        """
        _refuse_unknown(relation, self.path)
        nodes = [(synset, ", ".join(lemmas), True) for synset, lemmas in self.lemmas.items()]
        return hierarchy_of(self.path, self.edges[relation], nodes)


def matches(path: Path, head: bytes = b"") -> bool:
    """Whether a folder holds the noun files of a WordNet."""
    return all((path / name).is_file() for name in _FILES)


def read_wordnet(path: Path) -> WordNet:
    """Read the nouns of a WordNet ``dict`` folder, such as Debian's ``/usr/share/wordnet``.

    Nothing is downloaded, and only ``data.noun`` and ``index.noun`` are read. About seven seconds
    for the 82,115 noun synsets of WordNet 3.0.

    Raises:
        InputError: If the folder is no WordNet, or nltk is not installed.
        SchemaError: If its files are not as WordNet writes them.
    """
    if not matches(path):
        raise InputError(
            "a WordNet folder is required, with data.noun and index.noun",
            found="a folder without them" if path.is_dir() else "no folder",
            where=path,
            hint="Debian's package wordnet-base installs one as /usr/share/wordnet",
        )
    reader_of = _nltk_reader()
    try:
        return _tables(path, reader_of(path))
    except AuditError:
        raise
    except Exception as error:  # nltk raises what it stumbles over in a broken file
        raise SchemaError(
            "data.noun and index.noun must be as WordNet writes them",
            found=f"{type(error).__name__}: {error}".rstrip(": "),
            where=path,
        ) from None


def read(path: Path, relations: tuple[str, ...] = ()) -> Hierarchy:
    """The nouns of a WordNet folder below their hypernyms, or what ``relations`` names.

    Raises:
        InputError: As `read_wordnet`; or on more than one relation, or an unknown one.
        HierarchyError: On a cycle.
    """
    if len(relations) > 1:
        raise InputError(
            "one relation of WordNet is required", found=", ".join(relations), where=path
        )
    relation = relations[0] if relations else RELATIONS[0]
    _refuse_unknown(relation, path)
    return read_wordnet(path).hierarchy(relation)


FORMAT = HierarchyFormat("wordnet", "a WordNet folder: data.noun and index.noun", matches, read)


def _refuse_unknown(relation: str, path: Path) -> None:
    if relation not in RELATIONS:
        raise InputError(
            "a relation of WordNet is required",
            found=repr(relation),
            where=path,
            hint=f"there are: {', '.join(RELATIONS)}",
        )


def _nltk_reader() -> type[NounReader]:
    try:
        from audit.hierarchies.formats.wordnet_nltk import NounReader
    except ImportError:
        raise InputError(
            "WordNet is read through nltk",
            found="no nltk",
            hint="pip install 'hierarchy-audit[wordnet]'",
        ) from None
    return NounReader


def _tables(path: Path, reader: NounReader) -> WordNet:
    synsets = reader.nouns()
    return WordNet(
        path=path,
        lemmas={synset.name(): tuple(map(_spaced, synset.lemma_names())) for synset in synsets},
        senses={_spaced(lemma): tuple(names) for lemma, names in reader.senses().items()},
        edges={relation: tuple(_edges(synsets, relation)) for relation in RELATIONS},
    )


def _edges(synsets: list[Any], relation: str) -> list[EdgeRow]:
    return [
        (synset.name(), parent.name())
        for synset in synsets
        for pointer in _POINTERS[relation]
        for parent in getattr(synset, pointer)()
    ]


def _spaced(lemma: str) -> str:
    return lemma.replace("_", " ")
