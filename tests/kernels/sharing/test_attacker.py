"""What a reader of one result finds out about small counts: none of them exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.attacked_worlds import audited, world
from fixtures.attacker import attack


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("occur", [False, True], ids=["may occur", "do occur"])
def test_no_small_count_of_one_release_comes_out(seed: int, occur: bool, tmp_path: Path) -> None:
    given = world(seed)
    result = json.loads(audited(given, tmp_path).read_text("utf-8"))
    _, ranges = attack([(given, result)], occur=occur)
    assert ranges
    for found, _ in ranges.values():
        assert found.low <= found.truth <= found.high
        assert found.told != "exact", found
