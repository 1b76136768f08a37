"""``--dangling``: each command that reads a hierarchy refuses dangling edges, or tells of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import Result

from audit.concepts.representation_files import write_representations
from audit.explanations.attributions import write_attributions
from fixtures.commands import audit
from fixtures.explained_releases import explained_release, thirty_nodes
from fixtures.represented_releases import represented_release, twelve_labels

ROOT = Path(__file__).parents[2]
DAMAGED = """[Term]
id: a
name: animal
[Term]
id: d
name: dog
is_a: a
is_a: lost
[Term]
id: c
name: cow
is_a: lost
[Term]
id: o
name: old dog
is_a: a
is_obsolete: true
replaced_by: d
"""
DROP = ("--dangling", "drop")
SENTENCE = (
    "2 dangling edges of the hierarchy were dropped; 1 node lost all its parents and is a top now."
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "damaged.obo").write_text(DAMAGED)
    (tmp_path / "labels.csv").write_text("instance,label\n1,d\n2,c\n3,o\n")
    return tmp_path


def run(files: Path, *options: object, out: str = "run") -> Result:
    own = ("--hierarchy", files / "damaged.obo", "--no-pdf", "--out", files / out)
    return audit("run", files / "labels.csv", *own, *options)


def assert_refused(refused: Result) -> None:
    assert refused.exit_code == 2, refused.output
    told = " ".join(refused.output.split())
    assert "2 edges that have an end that is not a node: 'd -> lost', 'c -> lost'" in told
    assert "--dangling drop" in told
    assert "Traceback" not in told


def test_run_refuses_them_with_how_many_and_the_option(files: Path) -> None:
    refused = run(files)

    assert_refused(refused)
    assert "damaged.obo:8" in refused.output.replace("\n", "")
    assert not (files / "run").exists()
    assert_refused(run(files, "--dangling", "refuse"))


@pytest.mark.slow
def test_run_drops_them_and_tells_so_wherever_it_is_read(files: Path) -> None:
    made = run(files, *DROP)
    result = json.loads((files / "run" / "result.json").read_bytes())
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_bytes())
    report = (files / "run" / "report.html").read_text("utf-8")

    assert made.exit_code == 0, made.output
    assert SENTENCE in " ".join(made.output.split())
    Draft202012Validator(schema).validate(result)
    assert result["ledger"]["dropped_edges"] == {"edges": 2, "tops": 1}
    assert result["ledger"]["rows_mapped"] == 3
    for fact in (
        "<dt>Dangling edges of the hierarchy, dropped</dt><dd>2</dd>",
        "<dt>Nodes that lost all parents by this, and are tops now</dt><dd>1</dd>",
    ):
        assert fact in report
    again = audit("verify", files / "run", "--recompute")
    assert again.exit_code == 0, again.output


def test_a_run_without_dangling_edges_says_nothing_of_them(files: Path) -> None:
    (files / "damaged.obo").write_text(DAMAGED.replace("is_a: lost\n", ""))
    made = run(files, *DROP)

    assert made.exit_code == 0, made.output
    assert "dangling edge" not in made.output
    assert "dropped_edges" not in (files / "run" / "result.json").read_text("utf-8")


def test_the_policy_may_ask_for_it(files: Path) -> None:
    policy = files / "policy.toml"
    policy.write_text('dangling_edges = "drop"\n')
    made = run(files, "--policy", policy)
    assert made.exit_code == 0, made.output
    assert SENTENCE in " ".join(made.output.split())

    assert_refused(run(files, "--policy", policy, "--dangling", "refuse", out="other"))
    policy.write_text('dangling_edges = "refuse"\n')
    refused = run(files, "--policy", policy, *DROP, out="other")
    assert refused.exit_code == 2
    assert 'dangling_edges = "refuse"' in refused.output
    policy.write_text('dangling_edges = "hang"\n')
    assert run(files, "--policy", policy, out="other").exit_code == 2


@pytest.mark.slow
def test_data_that_are_only_counted_tell_the_same(files: Path) -> None:
    made = run(files, *DROP, "--engine", "stream")
    result = json.loads((files / "run" / "result.json").read_bytes())

    assert made.exit_code == 0, made.output
    assert result["ledger"]["dropped_edges"] == {"edges": 2, "tops": 1}


def test_lint_names_every_one(files: Path) -> None:
    assert_refused(audit("lint", files / "damaged.obo"))
    shown = audit("lint", files / "damaged.obo", *DROP)
    told = json.loads(audit("lint", files / "damaged.obo", *DROP, "--json").stdout)

    assert shown.exit_code == 0, shown.output
    assert "- dog (d); lost" in shown.output
    finding, *others = told["findings"]
    assert [one["rule"] for one in others] == ["orphan"]
    assert (finding["rule"], finding["cases"]) == ("dangling_edge", [["d", "lost"], ["c", "lost"]])
    assert (finding["n"], finding["of"]) == (2, 5)
    assert finding["statement"] == SENTENCE
    failing = audit("lint", files / "damaged.obo", *DROP, "--fail-on", "warning")
    assert failing.exit_code == 1


def lines(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_preference_tells_them_beside_its_table(files: Path) -> None:
    asked = {"sub_uri": "Q", "sub_label": "x", "predicate_id": "P106"}
    questions = lines(files / "q.jsonl", [asked | {"obj_label": "dog", "obj2_label": "animal"}])
    scored = [{"question": 0, "scores": {"dog": 0.5, "animal": 0.3, "cow": 0.2}}]
    scores = lines(files / "s.jsonl", scored)
    own = (scores, "--questions", questions, "--hierarchy", files / "damaged.obo")

    assert_refused(audit("preference", *own))
    shown = audit("preference", *own, *DROP)
    assert shown.exit_code == 0, shown.output
    assert SENTENCE in " ".join(shown.output.split())
    told = json.loads(audit("preference", *own, *DROP, "--json").stdout)
    assert told["dropped"] == {"edges": 2, "tops": 1}


def obo_of(edges: Sequence[tuple[str, str]], path: Path) -> Path:
    """The hierarchy as OBO; of each second node a parent is added that is no term."""
    nodes = sorted({node for edge in edges for node in edge})
    stanzas = []
    for place, node in enumerate(nodes):
        parents = [parent for child, parent in edges if child == node] + ["lost"] * (place % 2)
        stanzas += ["[Term]", f"id: {node}", *(f"is_a: {parent}" for parent in parents), ""]
    path.write_text("\n".join(stanzas))
    return path


@pytest.mark.slow
def test_concepts_tell_them_too(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    edges = twelve_labels().edge_frame().rows()
    hierarchy = obo_of(edges, tmp_path / "h.obo")
    write_representations(represented_release(absent="b2"), tmp_path / "layers.npz")
    own = (
        "concepts", tmp_path / "layers.npz", "--hierarchy", hierarchy, "--depth", 1, "--seeds", 1,
        "--no-pdf", "--out", tmp_path / "run",
    )  # fmt: skip

    assert audit(*own).exit_code == 2
    made = audit(*own, *DROP)
    assert made.exit_code == 0, made.output
    n = len({node for edge in edges for node in edge}) // 2
    result = json.loads((tmp_path / "run" / "result.json").read_bytes())
    assert result["ledger"]["dropped_edges"]["edges"] == n
    assert f"dropped</dt><dd>{n}</dd>" in (tmp_path / "run" / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_explanations_tell_them_too(tmp_path: Path) -> None:
    body = thirty_nodes()
    edges = body.edge_frame().rows()
    hierarchy = obo_of(edges, tmp_path / "h.obo")
    attributions, _ = explained_release(1, hierarchy=body, ignored="b")
    write_attributions(attributions, tmp_path / "attributions.parquet")
    own = (
        "explanations", tmp_path / "attributions.parquet", "--hierarchy", hierarchy,
        "--no-pdf", "--out", tmp_path / "run",
    )  # fmt: skip

    assert audit(*own).exit_code == 2
    made = audit(*own, *DROP)
    assert made.exit_code == 0, made.output
    result = json.loads((tmp_path / "run" / "result.json").read_bytes())
    assert result["ledger"]["dropped_edges"] == {
        "edges": len({node for edge in edges for node in edge}) // 2,
        "tops": 0,
    }
    assert "dropped</dt><dd>" in (tmp_path / "run" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.csv", "child,parent,obsolete,replaced_by\nd,a,,\nc,a,,\no,a,true,d\n"),
        ("h.json", '[{"id": "a", "children": ["d", "c", {"id": "o", "deprecated": true, '
         '"replaced_by": "d"}]}]'),
        ("h.json", '{"graphs": [{"nodes": [{"id": "a"}, {"id": "d"}, {"id": "c"}, {"id": "o", '
         '"meta": {"deprecated": true, "basicPropertyValues": [{"pred": '
         '"http://purl.obolibrary.org/obo/IAO_0100001", "val": "d"}]}}], "edges": []}]}'),
    ],
)  # fmt: skip
def test_a_label_that_any_format_calls_obsolete_is_told_with_its_successor(
    files: Path, name: str, text: str
) -> None:
    (files / name).write_text(text)
    own = ("--hierarchy", files / name, "--no-pdf", "--out", files / "run")
    made = audit("run", files / "labels.csv", *own)
    result = json.loads((files / "run" / "result.json").read_bytes())
    (finding,) = next(one for one in result["checks"] if one["name"] == "retired_code")["findings"]

    assert made.exit_code == 0, made.output
    assert finding["id"] == "retired_code:replaced"
    assert result["ledger"]["rows_mapped"] == 3
    assert [(part["nodes"][0]["id"], part["evidence"]["may_stand_for"])
            for part in finding["parts"]] == [("o", "d")]  # fmt: skip
