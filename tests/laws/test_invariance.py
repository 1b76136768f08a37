"""What must not matter does not: order, names, forms of files, parts, leaves that nobody uses."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import audit
from fixtures.held import read_json
from fixtures.small_release import (
    COLUMNS,
    EDGES,
    PARENTS,
    TITLES,
    Row,
    labels_of,
    rows,
    scores,
    write_table,
)

ROWS = rows("second")
TREE = audit.load_hierarchy(
    {node: sorted(up) for node, up in PARENTS.items() if up}, format="parents"
)


def shuffled(table: list[Row]) -> list[Row]:
    """The rows in another order."""
    return random.Random(1).sample(table, len(table))


def text(separator: str = ",", end: str = "\n", quote: str = "") -> str:
    """The rows as a text."""
    lines = [COLUMNS, *ROWS]
    return "".join(separator.join(f"{quote}{c}{quote}" for c in row) + end for row in lines)


def folder(files: Mapping[str, list[Row]]) -> Callable[[Path], Path]:
    """A writer of several files of rows."""

    def write(place: Path) -> Path:
        (place / "parts").mkdir()
        for name, some in files.items():
            write_table(place / "parts" / name, COLUMNS, some)
        return place / "parts"

    return write


def file(name: str, content: bytes) -> Callable[[Path], Path]:
    """A writer of one file."""

    def write(place: Path) -> Path:
        (place / name).write_bytes(content)
        return place / name

    return write


def parquet(place: Path) -> Path:
    """The rows as Parquet."""
    pl.DataFrame(ROWS, [*COLUMNS], orient="row").write_parquet(place / "data.parquet")
    return place / "data.parquet"


FORMS: dict[str, Callable[[Path], Path]] = {
    "as it is": file("data.csv", text().encode()),
    "ends of lines": file("data.csv", text(end="\r\n").encode()),
    "no end of the last line": file("data.csv", text().rstrip("\n").encode()),
    "quotes": file("data.csv", text(quote='"').encode()),
    "a mark of the byte order": file("data.csv", b"\xef\xbb\xbf" + text().encode()),
    "UTF-16": file("data.csv", text().encode("utf-16")),
    "tabs": file("data.tsv", text("\t").encode()),
    "semicolons": file("data.csv", text(";").encode()),
    "compressed": file("data.csv.gz", gzip.compress(text().encode(), mtime=0)),
    "Parquet": parquet,
    "two parts": folder({"a.csv": ROWS[:150], "b.csv": ROWS[150:]}),
    "parts in another order": folder({"b.csv": ROWS[:150], "a.csv": ROWS[150:]}),
    "five parts": folder({f"{n}.csv": ROWS[n::5] for n in range(5)}),
    "another order": folder({"all.csv": shuffled(ROWS)}),
}
"""The same rows in other forms of files."""


def said(labels: audit.LabelDataset) -> dict[str, Any]:
    """What a dataset holds, in an order of its own."""
    nodes, ids = labels.hierarchy.nodes, labels.instances["instance"].to_list()
    pairs = labels.assertions.select("instance", "node").rows()
    return {
        "instances": labels.instances.rows(),
        "labels": sorted((ids[one], nodes[node]) for one, node in pairs),
        "refused": sorted(labels.refusals.rows()),
        "mapped": sorted(labels.mappings.rows()),
        "rows": (labels.ledger.rows_read, labels.ledger.rows_mapped),
    }


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_files_does_not_matter(form: str, tmp_path: Path) -> None:
    straight = audit.load_labels(
        pl.DataFrame(ROWS, [*COLUMNS], orient="row"), TREE, group="person", strata=["site"]
    )
    path = FORMS[form](tmp_path)
    read = audit.load_labels(path, TREE, group="person", strata=["site"])

    assert said(read) == said(straight)


def test_labels_beside_one_another_are_those_of_long_rows(tmp_path: Path) -> None:
    own = labels_of("second")
    most = max(map(len, own.values()))
    wide = [(one, *sorted(labels), *[""] * (most - len(labels))) for one, labels in own.items()]
    joined = [(one, ";".join(sorted(labels))) for one, labels in own.items()]
    long = [(one, label) for one, labels in own.items() for label in sorted(labels)]
    files: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "wide": (("instance", *(f"DX{n + 1}" for n in range(most))), wide, {"label": "DX#"}),
        "joined": (("instance", "codes"), joined, {"label": "codes", "sep": ";"}),
        "long": (("instance", "label"), long, {}),
    }
    read = {}
    for name, (header, cells, stated) in files.items():
        table = write_table(tmp_path / f"{name}.csv", header, cells)
        run = audit.run_audit(audit.load_labels(table, TREE, **stated))
        read[name] = [run.nodes.rows(), run.pairs.collect().sort("a", "b").rows()]
        read[name] += [run.findings.drop("record").rows()]

    assert read["wide"] == read["long"]
    assert read["joined"] == read["long"]


def result(
    data: list[Row],
    parents: Mapping[str, set[str]] = PARENTS,
    titles: Mapping[str, str] = TITLES,
    policy: Mapping[str, Any] | None = None,
) -> audit.AuditResult:
    """The audit of some rows by a hierarchy."""
    edges = [(node, up) for node, above in parents.items() for up in above]
    nodes = [(node, titles[node]) for node in parents]
    tree = audit.Hierarchy.build(
        pl.DataFrame(edges, ["child", "parent"], orient="row"),
        pl.DataFrame(nodes, ["node", "title"], orient="row"),
        name="small",
    )
    frame = pl.DataFrame(data, [*COLUMNS], orient="row")
    labels = audit.load_labels(frame, tree, group="person", strata=["site"])
    stated = None if policy is None else audit.Policy.model_validate(policy)
    return audit.run_audit(labels, policy=stated)


RULES = {
    "exclusive": [{"nodes": ["cow", "tool"], "reason": "one or the other"}],
    "residual_share": {"value": 0.35, "reason": "agreed"},
}
"""What makes findings of nodes, parents and pairs."""


def counted(run: audit.AuditResult, was: Mapping[str, str] | None = None) -> dict[str, Any]:
    """All numbers of a run about nodes and pairs, by the earlier names of the nodes."""
    name = (was or {}).get
    pairs = run.pairs.collect()
    nodes = run.nodes.select(
        "node", "depth", "height", "direct", "support", "group_sum", "group_squares"
    )
    kept = [column for column in pairs.columns if column not in ("a", "b", "lca")]
    findings = {
        (check.name, at): {
            key: value
            for key, value in finding.evidence.items()
            if key not in ("support_a", "support_b") and not isinstance(value, str)
        }
        for check in run.checks
        for at, finding in enumerate(check.findings)
    }
    return {
        "nodes": {name(one, one): rest for one, *rest in nodes.iter_rows()},
        "pairs": {
            frozenset((name(row["a"], row["a"]), name(row["b"], row["b"]))): (
                {row["support_a"], row["support_b"]},
                *(row[column] for column in kept if column not in ("support_a", "support_b")),
            )
            for row in pairs.iter_rows(named=True)
        },
        "residuals": sorted(
            tuple(name(one, one) if isinstance(one, str) else one for one in row)
            for row in run.residuals.rows()
        ),
        "findings": findings,
        "checks": {check.name: (check.status, check.denominator) for check in run.checks},
        "ledger": dict(run.ledger),
    }


def test_the_order_of_rows_does_not_matter_to_any_number() -> None:
    one, other = result(ROWS, policy=RULES), result(shuffled(ROWS), policy=RULES)

    assert counted(other) == counted(one)
    assert one.cases is not None
    assert other.cases is not None
    assert sorted(other.cases.collect().rows()) == sorted(one.cases.collect().rows())


def test_names_of_instances_and_groups_do_not_matter() -> None:
    straight = result(ROWS, policy=RULES)
    assert straight.cases is not None
    for names in (lambda one: f"x{one}", lambda one: f"{one[:0:-1]}{one[0]}"):
        renamed = [(names(one), label, names(person), site) for one, label, person, site in ROWS]
        run = result(renamed, policy=RULES)
        assert run.cases is not None
        assert near(counted(run), counted(straight))
        assert sorted(run.cases.collect().rows()) == sorted(
            (finding, names(one)) for finding, one in straight.cases.collect().rows()
        )


@pytest.mark.parametrize("keeps_order", [True, False])
def test_names_of_nodes_do_not_matter(keeps_order: bool) -> None:
    """Where names change their order, in a tree: a node below two branches is counted with the
    first of them in node order.
    """
    new = {node: f"n{node}" if keeps_order else f"{99 - at:02}" for at, node in enumerate(TITLES)}
    before = PARENTS if keeps_order else {one: up - {"pet"} for one, up in PARENTS.items()}
    parents = {new[node]: {new[up] for up in above} for node, above in before.items()}
    titles = {new[node]: title for node, title in TITLES.items()}
    data = [(one, new.get(label, label), person, site) for one, label, person, site in ROWS]
    rules = {**RULES, "exclusive": [{"nodes": [new["cow"], new["tool"]], "reason": "one"}]}
    was = {name: node for node, name in new.items()}
    one, other = result(ROWS, before, policy=RULES), result(data, parents, titles, rules)

    assert near(counted(other, was), counted(one))


def near(one: Any, other: Any) -> bool:
    """Whether two records are the same, floating-point numbers to 1e-9 of them."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(near(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return bool(one == other)


def test_an_unused_leaf_changes_no_count() -> None:
    parents, titles = {**PARENTS, "zebra": {"mammal"}}, {**TITLES, "zebra": "Zebra"}
    with_leaf, without = (
        counted(result(ROWS, parents, titles, RULES)),
        counted(result(ROWS, policy=RULES)),
    )
    zebra = with_leaf["nodes"].pop("zebra")

    assert zebra[2:4] == [0, 0]
    assert with_leaf["nodes"] == without["nodes"]
    assert with_leaf["pairs"] == without["pairs"]
    assert with_leaf["findings"] == without["findings"]
    assert with_leaf["ledger"] == without["ledger"]


def test_the_order_of_edges_and_of_columns_does_not_matter(tmp_path: Path) -> None:
    edges = [("thing", "", "Thing"), *((child, up, TITLES[child]) for child, up in EDGES)]
    one = write_table(tmp_path / "one.csv", ("child", "parent", "title"), edges)
    other = write_table(
        tmp_path / "other.csv",
        ("title", "child", "parent"),
        [(title, child, up) for child, up, title in reversed(edges)],
    )

    assert audit.load_hierarchy(one).sha256 == audit.load_hierarchy(other).sha256
    assert audit.load_hierarchy(one).nodes == audit.load_hierarchy(other).nodes


def test_the_order_of_classes_and_of_rows_of_scores_does_not_matter(
    small: Path, tmp_path: Path
) -> None:
    own = scores("second")
    names = [*own["i000"]]
    labels = audit.load_labels(small / "second.csv", audit.load_hierarchy(small / "tree.csv"))
    turned = [[one, *(said[name] for name in names[::-1])] for one, said in own.items()][::-1]
    table = write_table(tmp_path / "scores.csv", ("instance", *names[::-1]), turned)
    models = [audit.load_predictions(path, labels) for path in (
        small / "second_scores.csv", table)]  # fmt: skip
    one, other = (audit.run_audit(labels, predictions=model) for model in models)

    assert (models[0].scores != models[1].scores).nnz == 0
    assert other.metrics.rows() == one.metrics.rows()
    assert other.shared() == one.shared()


def test_two_names_of_one_file_give_one_result(small: Path, tmp_path: Path) -> None:
    labels = audit.load_labels(
        file("other.csv", (small / "first.csv").read_bytes())(tmp_path),
        audit.load_hierarchy(small / "tree.csv"),
    )
    run = audit.run_audit(labels, policy=audit.load_policy(small / "policy.toml"))

    assert run.data_sha256 == audit.read_run(small / "first").data_sha256
    shared = read_json(small / "first" / "result.json")
    made = run.shared()
    assert {name: made[name] for name in ("ledger", "checks", "overview")} == {
        name: shared[name] for name in ("ledger", "checks", "overview")
    }
