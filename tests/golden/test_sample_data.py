"""The sample data is what its generator writes, byte for byte."""

from pathlib import Path

import pytest

from fixtures.sample_data import digests, write_sample_data

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"


@pytest.mark.slow
def test_sample_data_regenerates_to_the_same_bytes(tmp_path: Path) -> None:
    write_sample_data(tmp_path)
    assert digests(tmp_path) == digests(SAMPLE_DATA), (
        "write it again with: .venv/bin/python scripts/make_sample_data.py"
    )


def test_sample_data_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE_DATA.rglob("*")) < 6_000_000
