"""Obsolete ids: every format that can say so says the same of labels that carry them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import SchemaError
from audit.hierarchies.building import DanglingError
from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled

CHECK = CHECK_OF["retired_code"]

NODES, GONE = ("a", "b", "c"), ("x", "y", "z")
IDS = st.lists(st.sampled_from((*NODES, *GONE)), max_size=3, unique=True)


@dataclass(frozen=True)
class Retirement:
    """What a file says of one obsolete id."""

    replaced_by: list[str]
    consider: list[str]


RETIREMENTS = st.dictionaries(st.sampled_from(GONE), st.builds(Retirement, IDS, IDS))


def obo(retired: dict[str, Retirement]) -> str:
    lines = [line for node in NODES for line in ("[Term]", f"id: {node}", "")]
    for gone, said in retired.items():
        lines += ["[Term]", f"id: {gone}", "is_obsolete: true"]
        lines += [f"replaced_by: {other}" for other in said.replaced_by]
        lines += [f"consider: {other}" for other in said.consider]
    return "\n".join(lines)


def obographs(retired: dict[str, Retirement]) -> str:
    iri = "http://purl.obolibrary.org/obo/T_"
    nodes: list[dict[str, Any]] = [{"id": iri + node, "type": "CLASS"} for node in NODES]
    for gone, said in retired.items():
        values = [{"pred": "http://purl.obolibrary.org/obo/IAO_0100001", "val": iri + other}
                  for other in said.replaced_by]  # fmt: skip
        values += [{"pred": "http://www.geneontology.org/formats/oboInOwl#consider",
                    "val": f"T:{other}"} for other in said.consider]  # fmt: skip
        meta = {"deprecated": True, "basicPropertyValues": values}
        nodes.append({"id": iri + gone, "type": "CLASS", "meta": meta})
    return json.dumps({"graphs": [{"nodes": nodes, "edges": []}]})


def edge_table(retired: dict[str, Retirement]) -> str:
    rows = [(node, "", "", "", "") for node in NODES]
    for gone, said in retired.items():
        rows += [(gone, "", "TRUE", other, "") for other in said.replaced_by]
        rows += [(gone, "", "1", "", other) for other in said.consider]
        rows += [(gone, "a", "", "", ""), (gone, "", "true", "", "")]
    header = "child,parent,is_obsolete,replaced_by,consider"
    return "\n".join([header, *map(",".join, rows)])


def tree(retired: dict[str, Retirement]) -> str:
    nodes: list[dict[str, Any]] = [{"id": node, "obsolete": False} for node in NODES]
    nodes += [
        {"id": gone, "obsolete": True, "replaced_by": said.replaced_by, "consider": said.consider}
        for gone, said in retired.items()
    ]
    return json.dumps(nodes)


WRITERS: dict[str, Callable[[dict[str, Retirement]], str]] = {
    "obo": obo,
    "obographs": obographs,
    "edges": edge_table,
    "tree": tree,
}


def read(text: str, format: str) -> Hierarchy:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.csv"
        path.write_text(text)
        return load_hierarchy(path, format=format)


def passed(retired: dict[str, Retirement], gone: str, considered: bool) -> set[str]:
    """An id, and all that its successors lead to, by their closure."""
    found = {gone}
    for _ in NODES + GONE:
        for one in found & retired.keys():
            found = found | {*retired[one].replaced_by}
            found = found | {*(retired[one].consider if considered else ())}
    return found


def ends(retired: dict[str, Retirement], gone: str, considered: bool) -> set[str]:
    return passed(retired, gone, considered) & {*NODES}


def open_ended(retired: dict[str, Retirement], gone: str) -> bool:
    """Whether a replacement is retired with nothing but what to consider."""
    through = passed(retired, gone, False) - {gone}
    return any(
        not retired[one].replaced_by and retired[one].consider for one in through & retired.keys()
    )


CHAINS = """[Term]
id: a
alt_id: a2
[Term]
id: b
[Term]
id: x1
is_obsolete: true
replaced_by: x2
[Term]
id: x2
is_obsolete: true
replaced_by: x3
alt_id: x4
[Term]
id: x3
is_obsolete: true
replaced_by: a2
[Term]
id: fork
is_obsolete: true
replaced_by: x1
replaced_by: b
[Term]
id: again
is_obsolete: true
replaced_by: x1
replaced_by: a
[Term]
id: round
is_obsolete: true
replaced_by: about
[Term]
id: about
is_obsolete: true
replaced_by: round
"""


def test_a_chain_is_followed_to_its_end_and_a_fork_or_a_circle_is_told(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path, CHAINS, "h.obo"))
    ids = ["a2", "x1", "x2", "x3", "x4", "again", "fork", "round"]
    counted = measure(labelled(hierarchy, {"i": ids, "j": ["a"]}), Policy())
    (finding,) = CHECK.run(counted).findings
    meant = {part.nodes[0]: part.evidence["may_stand_for"] for part in finding.parts}

    assert meant == {
        **dict.fromkeys(ids[:6], "a"), "fork": "b or a", "round": "about, retired too",
    }  # fmt: skip
    assert set(counted.counts.refusals["label"]) == {"fork", "round"}


@pytest.mark.hypothesis
@pytest.mark.parametrize("format", WRITERS)
def test_an_obsolete_id_is_no_node_and_names_its_successors(format: str) -> None:
    start = "T:" if format == "obographs" else ""

    @given(RETIREMENTS)
    def law_holds(retired: dict[str, Retirement]) -> None:
        hierarchy = read(WRITERS[format](retired), format)
        plain = [node.removeprefix(start) for node in hierarchy.nodes]

        assert [node for node in plain if node != "(root)"] == list(NODES)
        assert (hierarchy.coding is None) == (not retired)
        for gone, said in retired.items():
            assert hierarchy.coding is not None
            found = [one.removeprefix(start) for one in hierarchy.coding.retired[start + gone]]
            placed = hierarchy.coding.place(start + gone, None, hierarchy)
            sure, may = ends(retired, gone, False), ends(retired, gone, True)
            if placed.node is None:
                assert placed == Placement(reason="retired_code")
                assert set(found) & set(NODES) == may
                assert may or set(found) <= {*said.replaced_by, *said.consider}
            else:
                assert {placed.node.removeprefix(start)} == set(found) == sure
            assert (placed.node is None) == (len(sure) != 1 or open_ended(retired, gone))

    law_holds()


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


def test_titles_and_parents_of_an_obsolete_id_are_passed_over(tmp_path: Path) -> None:
    table = "child,parent,title,obsolete\na,,A,\nx,a,One,true\nx,lost,Other,true\n"

    assert load_hierarchy(written(tmp_path, table)).nodes == ("a",)


def test_an_obsolete_id_below_a_node_is_no_child_of_it(tmp_path: Path) -> None:
    text = '[{"id": "a", "children": ["b", {"id": "x", "obsolete": true}]}]'

    assert load_hierarchy(written(tmp_path, text, "h.json")).children("a") == ("b",)


def test_a_parent_that_is_obsolete_is_dangling(tmp_path: Path) -> None:
    table = written(tmp_path, "child,parent,obsolete\nx,a,true\nb,x,\n")
    nested = written(tmp_path, '[{"id": "x", "obsolete": true, "children": ["b"]}]', "h.json")
    for path in (table, nested):
        with pytest.raises(DanglingError, match="'b -> x'"):
            load_hierarchy(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("child,parent,obsolete\na,,perhaps\n", "'obsolete' must be true or false"),
        ("child,parent,obsolete\na,,true\na,,false\n", "both for 'a'"),
        ("child,parent,obsolete,deprecated\na,,true,true\n", "'obsolete', 'deprecated'"),
    ],
)
def test_a_table_that_is_of_two_minds_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load_hierarchy(written(tmp_path, text))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"id": "a", "obsolete": "yes"}, "'obsolete' must be true or false"),
        ({"id": "a", "deprecated": True, "replaced_by": {}}, "'replaced_by' must be an id"),
        ({"id": "a", "is_obsolete": True, "consider": [None]}, "'consider' must be an id"),
    ],
)
def test_a_tree_of_other_values_is_refused(tmp_path: Path, node: Any, message: str) -> None:
    path = written(tmp_path, json.dumps([node, {"id": "b"}]), "h.json")
    with pytest.raises(SchemaError, match=message):
        load_hierarchy(path)


def test_names_within_names_may_be_called_as_the_keys(tmp_path: Path) -> None:
    path = written(tmp_path, '{"obsolete": {"deprecated": {}, "replaced_by": {}}}', "h.json")

    assert load_hierarchy(path).nodes == ("deprecated", "obsolete", "replaced_by")


def test_an_alternative_id_that_is_a_term_itself_is_not_retired(tmp_path: Path) -> None:
    path = written(tmp_path, "[Term]\nid: a\nalt_id: b\nalt_id: c\n[Term]\nid: b\n", "h.obo")
    coding = load_hierarchy(path).coding

    assert coding is not None
    assert coding.retired == {"c": ("a",)}
