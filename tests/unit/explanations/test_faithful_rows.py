"""Faithfulness from a file: a value of another type is refused, whatever stands beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.base.errors import SchemaError
from fixtures.fuzzed_beside import explained_seeds, read_explained


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", ["n1"]), ("comprehensiveness", "much"), ("random_sufficiency", [0.5]), ("seed", "x")],
)
def test_a_value_of_another_type_is_refused(name: str, value: object, tmp_path: Path) -> None:
    explained_seeds(tmp_path)
    folder = tmp_path / "jsonl"
    read_explained(folder)
    file = folder / "faithfulness.jsonl"
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))

    with pytest.raises(SchemaError, match=f"{name} of type"):
        read_explained(folder)
