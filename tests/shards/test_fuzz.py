"""Any bytes give a result or an `AuditError`: a few hundred damaged files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import structured
from fixtures.damaged import Reader
from fixtures.fuzzed import READERS

INPUTS = {"counts": 30, "evidence": 30, "labels": 40, "predictions": 40, "runs": 20}
"""How many files a reader is given, where these are not 60: `scripts/fuzz.py` gives thousands."""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_reader_stumbles(
    reader: Reader, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    inputs = range(INPUTS.get(reader.name, 60))
    became = structured.became(reader, inputs, 1, tmp_path, structured.plain)

    assert {*became} <= {"read", "refused"}
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("reader", structured.READERS[:1], ids=lambda reader: reader.name)
def test_no_reader_stumbles_over_values_with_a_meaning(
    reader: Reader, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert {*structured.became(reader, range(60), 0, tmp_path)} == {"read", "refused"}
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_whole_files_are_read(reader: Reader, tmp_path: Path) -> None:
    reader.seeds(tmp_path)

    for path in tmp_path.iterdir():
        reader.read(path)


def test_a_reader_that_stumbles_is_found(tmp_path: Path) -> None:
    def stumbling(path: Path) -> None:
        if b"4019" not in path.read_bytes():
            raise KeyError

    titles = next(reader for reader in READERS if reader.name == "titles")
    reader = Reader("titles", titles.seeds, stumbling)
    tried = [*structured.became(reader, range(200), 1, tmp_path, structured.plain)]
    kept = [path for path in tmp_path.iterdir() if path.is_file()]

    assert kept
    assert tried.count("read") == 200 - len(kept)
    assert all(b"4019" not in path.read_bytes() for path in kept)
