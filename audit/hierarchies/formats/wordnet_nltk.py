"""nltk's WordNet reader, applied to the noun files of any folder."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from nltk.corpus.reader.wordnet import NOUN, WordNetCorpusReader
from nltk.data import PathPointer, SeekableUnicodeStreamReader

from audit.base.files import read_bytes

NOUN_FILES = ("data.noun", "index.noun")
"""The files that are read; any other file that nltk opens appears empty."""

_LEXNAMES = b"".join(b"%02d file%02d 1\n" % (number, number) for number in range(100))


class NounReader(WordNetCorpusReader):  # type: ignore[misc]
    """Reads only nouns, from the two files that hold them.

    nltk requires a folder that is registered as its data, a file ``lexnames`` that Debian's package
    lacks, and all parts of speech. Here any folder will do, lexicographer files are numbered, and
    the other parts of speech have no words.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__(_Nowhere(), omw_reader=self)

    def open(self, file: str) -> Any:
        """Open a file by its name as nltk expects it: text with positions in bytes."""
        return SeekableUnicodeStreamReader(io.BytesIO(self._content(file)), "utf8")

    def map_wn(self, version: str = "wordnet") -> None:
        """Skip the mapping to other versions, which only other languages need."""

    def nouns(self) -> list[Any]:
        """All noun synsets, in file order."""
        return list(self.all_synsets(NOUN))

    def senses(self) -> dict[str, list[str]]:
        """Synset names of each lemma in the index, the most frequent sense first."""
        offsets = {lemma: parts[NOUN] for lemma, parts in self._lemma_pos_offset_map.items()}
        return {
            lemma: [self.synset_from_pos_and_offset(NOUN, offset).name() for offset in found]
            for lemma, found in offsets.items()
        }

    def _content(self, file: str) -> bytes:
        if file == "lexnames":
            return _LEXNAMES
        return read_bytes(self._folder / file) if file in NOUN_FILES else b""


class WordReader(NounReader):
    """Reads all parts of speech, from the files of a folder that has them."""

    def _content(self, file: str) -> bytes:
        known = file != "lexnames" and (self._folder / file).is_file()
        return read_bytes(self._folder / file) if known else super()._content(file)


class _Nowhere(PathPointer):  # type: ignore[misc]
    """The root that nltk asks for; nothing is ever opened through it."""

    def open(self, encoding: str | None = None) -> Any:
        raise FileNotFoundError

    def file_size(self) -> int:
        return 0

    def join(self, fileid: str) -> _Nowhere:
        return self
