"""nltk's WordNet reader, applied to files of any folder."""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nltk.corpus.reader.wordnet import NOUN, WordNetCorpusReader
from nltk.data import PathPointer, SeekableUnicodeStreamReader

from audit.base.files import read_bytes

_LEXNAMES = b"".join(b"%02d file%02d 1\n" % (number, number) for number in range(100))


class WordReader(WordNetCorpusReader):  # type: ignore[misc]
    """Reads some files of a folder; any other that nltk opens appears empty.

    nltk requires a folder that is registered as its data, and a file ``lexnames`` that Debian's
    package lacks. Here any folder will do, and lexicographer files are numbered.

    Args:
        folder: The folder.
        files: Names of files; None: all that it has.
    """

    def __init__(self, folder: Path, files: Collection[str] | None = None) -> None:
        self._folder, self._names = folder, files
        super().__init__(_Nowhere(), omw_reader=self)

    def open(self, file: str) -> Any:
        """Open a file by its name as nltk expects it: text with positions in bytes."""
        known = self._names is None or file in self._names
        there = known and (self._folder / file).is_file()
        content = read_bytes(self._folder / file) if there else b""
        return SeekableUnicodeStreamReader(
            io.BytesIO(_LEXNAMES if file == "lexnames" else content), "utf8"
        )

    def map_wn(self, version: str = "wordnet") -> None:
        """Skip the mapping to other versions, which only other languages need."""

    def senses(self) -> dict[str, list[str]]:
        """Names of noun synsets of each lemma in the index, the most frequent sense first."""
        offsets = {lemma: parts[NOUN] for lemma, parts in self._lemma_pos_offset_map.items()}
        return {
            lemma: [self.synset_from_pos_and_offset(NOUN, offset).name() for offset in found]
            for lemma, found in offsets.items()
        }


class _Nowhere(PathPointer):  # type: ignore[misc]
    """The root that nltk asks for; nothing is ever opened through it."""

    def open(self, encoding: str | None = None) -> Any:
        raise FileNotFoundError

    def file_size(self) -> int:
        return 0

    def join(self, fileid: str) -> _Nowhere:
        return self
