"""The top findings on public data: counted again from the rows, and each one judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from validation.truth_judgements import judgement
from validation.truth_real import SOURCES, Source, examined

DATA = os.environ.get("AUDIT_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="AUDIT_DATA names no folder with the releases")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_top_finding_is_counted_again_and_judged(source: Source) -> None:
    found = examined(source, Path(DATA))

    assert found
    for one in found:
        assert judgement(one.finding.id)[0] != "not examined", one.finding.id
        assert one.again in (None, one.finding.touched), one.finding.id
    assert sum(one.again is not None for one in found) >= 0.7 * len(found)
