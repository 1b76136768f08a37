"""Obsolete ids: every format that can say so says the same of labels that carry them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.hierarchies.reading import load_hierarchy


def written(folder: Path, text: str, name: str = "h.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_parquet_table_says_it_by_a_column_of_truth_values(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    rows = {"child": ["a", "b", "x"], "parent": [None, "a", "a"],
            "deprecated": [None, False, True], "replaced_by": [None, None, "b"]}  # fmt: skip
    pl.DataFrame(rows).write_parquet(path)
    hierarchy = load_hierarchy(path)

    assert hierarchy.nodes == ("a", "b")
    assert hierarchy.coding is not None
    assert hierarchy.coding.retired == {"x": ("b",)}


def test_an_obsolete_id_below_a_node_is_no_child_of_it(tmp_path: Path) -> None:
    text = '[{"id": "a", "children": ["b", {"id": "x", "obsolete": true}]}]'

    assert load_hierarchy(written(tmp_path, text, "h.json")).children("a") == ("b",)


def test_names_within_names_may_be_called_as_the_keys(tmp_path: Path) -> None:
    path = written(tmp_path, '{"obsolete": {"deprecated": {}, "replaced_by": {}}}', "h.json")

    assert load_hierarchy(path).nodes == ("deprecated", "obsolete", "replaced_by")
