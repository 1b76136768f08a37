"""Any bytes give a result or an `AuditError`: a few hundred damaged files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.fuzzed import READERS, Reader, stumbles

INPUTS = {"runs": 40}
"""How many files a reader is given, where these are not 150: `scripts/fuzz.py` gives thousands."""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_reader_stumbles(
    reader: Reader, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = stumbles(reader, INPUTS.get(reader.name, 150), seed=1, folder=tmp_path)

    assert [(one.file.name, repr(one.error)) for one in found] == []
    assert capfd.readouterr().err == ""


def test_a_reader_that_stumbles_is_found(tmp_path: Path) -> None:
    def stumbling(path: Path) -> None:
        if b"4019" not in path.read_bytes():
            raise KeyError

    titles = next(reader for reader in READERS if reader.name == "titles")
    some = list(stumbles(Reader("titles", titles.seeds, stumbling), 200, 1, tmp_path))

    assert some
    assert all(b"4019" not in one.file.read_bytes() for one in some)
