"""AudioSet JSON: nodes, children and restrictions, and what is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from audit.hierarchies.formats.published import AUDIOSET as FORMAT
from audit.hierarchies.reading import load_hierarchy
from fixtures import hierarchy_files
from fixtures.written import written

refused = partial(hierarchy_files.refused, format="audioset")

ENTRIES: list[dict[str, Any]] = [
    {"id": "/m/1", "name": "Sound", "child_ids": ["/m/2", "/m/3"], "restrictions": ["abstract"]},
    {"id": "/m/2", "name": "Animal", "child_ids": ["/m/3"], "restrictions": []},
    {"id": "/m/3", "child_ids": [], "restrictions": ["blacklist"], "positive_examples": ["x"]},
]


def test_nodes_children_and_restrictions(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "ontology.json", ENTRIES))

    assert hierarchy.nodes == ("/m/1", "/m/2", "/m/3")
    assert hierarchy.titles == ("Sound", "Animal", "")
    assert hierarchy.parents("/m/3") == ("/m/1", "/m/2")
    assert hierarchy.assignable.tolist() == [False, True, True]
    assert hierarchy.labelled_ancestors == "allowed"


def test_format_is_found_by_its_keys() -> None:
    assert FORMAT.matches(Path("x"), b' [ {"id": "a", "child_ids": []')
    assert not FORMAT.matches(Path("x"), b'{"child_ids": []}')
    assert not FORMAT.matches(Path("x"), b'[{"id": "a", "children": []}]')
