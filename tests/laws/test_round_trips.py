"""What is written and read back is what it was; what is turned round is its mirror image."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures import hierarchy_files
from fixtures.held import held, read_json
from fixtures.label_files import WRITERS as LABEL_WRITERS
from fixtures.label_files import LabelWriter, Record
from fixtures.prediction_files import WRITERS as PREDICTION_WRITERS
from fixtures.prediction_files import PredictionWriter, Scored
from fixtures.toy import EDGES, LEAVES, NODES

TABLES = ("nodes", "edges", "residuals", "findings")
TREE = audit.load_hierarchy(
    {child: [up for one, up in EDGES if one == child] for child, _ in EDGES}, format="parents"
)
Labels = dict[str, tuple[str, ...]]


def rows_of(table: pl.DataFrame | pl.LazyFrame | None) -> Any:
    """The types of the columns of a table, and its rows."""
    if table is None:
        return None
    read = table.collect() if isinstance(table, pl.LazyFrame) else table
    return dict(read.schema), read.rows()


def told(run: audit.AuditResult) -> dict[str, Any]:
    """Everything that a result says."""
    parts = {
        name: rows_of(table)
        for part in (run.pair_table, *run.parts)
        for name, table in part.tables().items()
    }
    return {
        **{name: rows_of(getattr(run, name)) for name in TABLES},
        **{f"part {name}": rows for name, rows in parts.items()},
        **{name: rows_of(getattr(run, name)) for name in ("pairs", "cases", "proposals")},
        "checks": run.checks,
        "identity": dict(run.identity),
        "ledger": dict(run.ledger),
        "readings": run.readings,
        "policy": dict(run.policy),
        "waivers": run.waivers,
        "data": run.data_sha256,
        "metrics": run.metrics.rows(),
        "shared": run.shared(),
        "repr": repr(run),
    }


def loaded(labels: Labels, groups: bool = False) -> audit.LabelDataset:
    """Labels from Python; two instances a group, if there are groups."""
    rows = [(one, label, f"g{n // 2}") for n, (one, own) in enumerate(labels.items())
            for label in own]  # fmt: skip
    frame = pl.DataFrame(rows, ["instance", "label", "group"], orient="row")
    return (
        audit.load_labels(frame, TREE, group="group")
        if groups
        else (audit.load_labels(frame.drop("group"), TREE))
    )


@st.composite
def labelled(draw: st.DrawFn) -> Labels:
    """Labels of some records, a few of them no nodes and some repeated."""
    known = st.sampled_from([*NODES[:5], *NODES[6:], "unicorn"])
    own = st.lists(known, min_size=1, max_size=4).map(tuple)
    made_up = draw(st.lists(own, min_size=2, max_size=30))
    return {f"i{number:02}": labels for number, labels in enumerate([("dog",), *made_up])}


def is_read_back(
    factory: pytest.TempPathFactory, labels: Labels, groups: bool, modelled: bool
) -> None:
    """A run is as it was written, also once it was written again."""
    dataset = loaded(labels, groups)
    scores = {leaf: [eighths(one + leaf) for one in labels] for leaf in LEAVES}
    model = audit.load_predictions({"instance": [*labels], **scores}, dataset)
    run = audit.run_audit(dataset, predictions=model if modelled else None)
    folder = audit.write_run(run, factory.mktemp("law") / "run")
    again = audit.read_run(folder)
    twice = audit.write_run(again, factory.mktemp("law") / "run")
    before, after = (
        {name: content for name, content in held(one).items() if "manifest" not in name}
        for one in (folder, twice)
    )

    assert told(again) == told(run)
    assert before == after


@pytest.mark.slow
@given(labels=labelled(), groups=st.booleans(), modelled=st.booleans())
def test_any_run_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, labels: Labels, groups: bool, modelled: bool
) -> None:
    is_read_back(tmp_path_factory, labels, groups, modelled)


def test_a_run_is_read_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    labels = {
        f"i{n:02}": (NODES[n % 5], NODES[-1 - n % 3], *["unicorn"] * (n % 5)) for n in range(40)
    }
    is_read_back(tmp_path_factory, labels, True, True)


def eighths(text: str) -> float:
    """A number in [0, 1] of a text, the same in every process."""
    return random.Random(text).randrange(9) / 8


@pytest.mark.parametrize("name", ["first", "second_grouped", "second_modelled", "second_referred"])
def test_what_a_run_shares_is_made_again_from_its_folder(small: Path, name: str) -> None:
    run = audit.read_run(small / name)

    assert run.shared() == read_json(small / name / "result.json")
    assert told(run) == told(audit.read_run(small / name, unsealed=True))


def drawn_release(seed: int, share: float) -> Labels:
    """Records in which dogs have some share."""
    draw = random.Random(seed)
    weights = {"dog": share, "cow": 1 - share, "bird": 0.3, "tool": 0.3, "mammal": 0.2}
    return {
        f"i{n}": tuple({*draw.choices([*weights], [*weights.values()], k=draw.choice((1, 2)))})
        for n in range(60)
    }


def test_copies_of_records_in_a_group_weigh_as_one_record_in_a_comparison() -> None:
    def compared(copies: int, grouped: bool) -> audit.Comparison:
        runs = []
        for seed, share in ((1, 0.3), (2, 0.8)):
            rows = [
                (f"{one}.{copy}", label, one)
                for one, own in drawn_release(seed, share).items()
                for copy in range(copies)
                for label in sorted(own)
            ]
            frame = pl.DataFrame(rows, ["instance", "label", "group"], orient="row")
            named = {"group": "group"} if grouped else {}
            data = frame if grouped else frame.drop("group")
            runs.append(audit.run_audit(audit.load_labels(data, TREE, **named)))
        return audit.compare_runs(*runs)

    one, copied = compared(1, grouped=False), compared(3, grouped=True)
    for name, ends in (("nodes", ["node"]), ("pairs", ["a", "b"])):
        table, other = getattr(one, name), getattr(copied, name)
        assert other[ends].equals(table[ends])
        for column in ("difference", "low", "high", "odds_ratio"):
            assert other[column].to_list() == pytest.approx(table[column].to_list(), rel=1e-9)
        for column in ["p_value", "q_value"] + ["nodes_p_value"] * (name == "pairs"):
            assert (other[column] >= table[column] * (1 - 1e-9)).all()  # of groups: Student's too


@pytest.mark.slow
@given(
    seeds=st.tuples(st.integers(0, 99), st.integers(100, 199)),
    shares=st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)),
    groups=st.booleans(),
)
def test_a_comparison_turned_round_is_its_mirror_image(
    seeds: tuple[int, int], shares: tuple[float, float], groups: bool
) -> None:
    old, new = (
        audit.run_audit(loaded(drawn_release(seed, share), groups))
        for seed, share in zip(seeds, shares, strict=True)
    )
    there, back = audit.compare_runs(old, new), audit.compare_runs(new, old)

    for name in ("nodes", "pairs"):
        pairs = zip(*(getattr(one, name).iter_rows(named=True) for one in (there, back)),
                    strict=True)  # fmt: skip
        for one, other in pairs:
            mirrored(one, other)
    assert there.changed == back.changed
    exchanged = {"new": "gone", "gone": "new", "worse": "better", "better": "worse"}
    changes = [dict(one.findings.select("id", "change").iter_rows()) for one in (there, back)]
    assert changes[1] == {one: exchanged.get(c, c) for one, c in changes[0].items()}
    itself = audit.compare_runs(new, new)
    assert not itself.changed
    assert {*itself.nodes["difference"]} == {0.0}


def mirrored(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Assert that a row of a comparison is that of the comparison turned round."""
    for name, value in one.items():
        if name.endswith("_old"):
            assert other[f"{name.removesuffix('_old')}_new"] == pytest.approx(value)
        elif name in ("p_value", "q_value", "nodes_p_value", "nodes_q_value"):
            assert other[name] == (None if value is None else pytest.approx(value, rel=1e-6))
        elif name in ("node", "a", "b", "title", "depth", "branch", "relation", "changed"):
            assert other[name] == value
    assert other["difference"] == pytest.approx(-one["difference"], abs=1e-12)
    assert (other["low"], other["high"]) == pytest.approx((-one["high"], -one["low"]), abs=1e-12)
    for name in {"odds_ratio", "lift_change"} & one.keys():
        if one[name] not in (0, float("inf")):
            assert other[name] == pytest.approx(1 / one[name])


RECORDS = (
    Record("100001", ("bird", "dog"), "7"),
    Record("100002", ("cow",), "7"),
    Record("100003", ("cow", "pet", "tool"), "8"),
)


@pytest.mark.parametrize("writer", LABEL_WRITERS, ids=lambda one: f"{one.format}-{one.file}")
def test_labels_are_loaded_as_they_were_written(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    named = {"group": "group"} if writer.keeps_groups and writer.format == "table" else {}
    labels = audit.load_labels(path, TREE, **{**named, **writer.options})
    direct = labels.direct.toarray()

    assert labels.instances["instance"].to_list() == [one.instance for one in RECORDS]
    for row, record in zip(direct, RECORDS, strict=True):
        assert {labels.hierarchy.nodes[at] for at in np.flatnonzero(row)} == {*record.labels}
    if writer.keeps_groups:
        assert labels.instances["group"].to_list() == [one.group for one in RECORDS]
    assert labels.format == writer.format


SCORED = Scored(
    tuple(one.instance for one in RECORDS),
    ("bird", "cow", "dog"),
    np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.0, 0.125, 0.875]]),
)


@pytest.mark.parametrize("writer", PREDICTION_WRITERS, ids=lambda one: f"{one.format}-{one.file}")
def test_scores_are_loaded_as_they_were_written(writer: PredictionWriter, tmp_path: Path) -> None:
    values = (SCORED.scores > 0).astype(float) if writer.set_valued else SCORED.scores
    scored = Scored(SCORED.instances, SCORED.classes, values)
    path = tmp_path / writer.file
    writer.write(scored, path)
    labels = loaded({one.instance: one.labels for one in RECORDS})
    classes = writer.classes_beside(scored, path)
    model = audit.load_predictions(path, labels, classes=classes, by_order=not writer.keeps_ids)
    columns = [labels.hierarchy.index(name) for name in scored.classes]

    assert model.instances == scored.instances
    assert model.scores.toarray()[:, columns].tolist() == values.tolist()
    assert model.scores.nnz == np.count_nonzero(values)


HIERARCHIES = {
    "edges.csv": hierarchy_files.write_edges_csv,
    "edges.tsv": hierarchy_files.write_edges_csv,
    "edges.parquet": hierarchy_files.write_edges_parquet,
    "toy.obo": hierarchy_files.write_obo,
    "obographs.json": hierarchy_files.write_obographs,
    "toy.ttl": hierarchy_files.write_skos,
    "toy.rdf": hierarchy_files.write_skos,
    "ontology.json": hierarchy_files.write_audioset,
    "tree.json": hierarchy_files.write_tree,
}
"""Files of hierarchies with what writes them."""

UNSAID = {"toy.obo", "obographs.json", "toy.ttl", "toy.rdf"}
"""Those that do not say which nodes may be labels."""


@pytest.mark.parametrize("name", HIERARCHIES)
def test_hierarchies_are_loaded_as_they_were_written(name: str, tmp_path: Path) -> None:
    HIERARCHIES[name](TREE, tmp_path / name)
    again = audit.load_hierarchy(tmp_path / name)

    assert again.nodes == TREE.nodes
    assert {node: again.parents(node) for node in again.nodes} == {
        node: TREE.parents(node) for node in TREE.nodes
    }
    assert again.sha256 == TREE.sha256 or name in UNSAID
