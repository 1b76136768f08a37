"""``audit compare``: its numbers against plain arithmetic on two runs, and what it leaves."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import audit
from fixtures.doors import made, refused
from fixtures.held import held, read_json, sha256
from fixtures.plain_statistics import (
    binomial,
    newcombe,
    odds_ratio,
    p_of_difference,
    rates_of,
    wilson,
)
from fixtures.small_release import (
    EDGES,
    NODES,
    TITLES,
    above,
    labels_of,
    options,
    rows,
    write_table,
)

N = 200
LEAST, RATE, FLOOR = 5, 0.05, 1.2
"""Instances expected in the smaller release; share of false changes; least odds ratio."""
STEPS = (("first", "second"), ("second", "third"), ("third", "first"))


def compared(small: Path, old: str, new: str) -> audit.Comparison:
    """The comparison of two runs."""
    return audit.compare_runs(*(audit.read_run(small / name) for name in (old, new)))


def supports(release: str) -> Counter[str]:
    """Instances that carry each node."""
    own = labels_of(release).values()
    return Counter(node for labels in own for node in set[str]().union(*map(above, labels)))


def joints(release: str) -> Counter[tuple[str, str]]:
    """Instances with both of two nodes of which none is above the other, but for those with a
    label that is below both.
    """
    made = Counter[tuple[str, str]]()
    for labels in labels_of(release).values():
        ways = [above(label) for label in labels]
        carried = sorted(set[str]().union(*ways))
        for a, b in combinations(carried, 2):
            in_line = a in above(b) or b in above(a)
            made[a, b] += not in_line and not any({a, b} <= way for way in ways)
    return made


def test_wilson_and_fisher_are_the_textbooks() -> None:
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert newcombe(56 / 70, 70, 48 / 80, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert p_of_difference((9, 10), (1, 10)) == pytest.approx(2 * 101 / 184756)
    assert rates_of({"a": 0.03, "b": 0.01}) == {"a": 0.03, "b": 0.02}


@pytest.mark.parametrize(("old", "new"), STEPS)
def test_shares_of_nodes_with_their_intervals_and_tests(small: Path, old: str, new: str) -> None:
    before, after = supports(old), supports(new)
    p_values = {
        node: p_of_difference((after[node], N), (before[node], N))
        for node in NODES
        if (before[node] + after[node]) / 2 >= LEAST
    }
    q_values = rates_of(p_values)
    table = compared(small, old, new).nodes

    assert table["node"].to_list() == [*NODES]
    for row in table.iter_rows(named=True):
        node = row["node"]
        k, m = before[node], after[node]
        odds = odds_ratio(k, N, m, N)
        assert (row["title"], row["support_old"], row["support_new"]) == (TITLES[node], k, m)
        assert (row["rate_old"], row["rate_new"]) == pytest.approx((k / N, m / N))
        assert row["difference"] == pytest.approx(m / N - k / N)
        assert (row["low"], row["high"]) == pytest.approx(newcombe(m / N, N, k / N, N))
        assert row["odds_ratio"] == pytest.approx(odds)
        assert row["p_value"] == pytest.approx(p_values.get(node), rel=1e-6)
        assert (row["mean_old"], row["mean_new"]) == (None, None)
        told = q_values.get(node, 1) <= RATE and not 1 / FLOOR < odds < FLOOR
        assert row["changed"] == (told and node != "thing")
        if not row["changed"]:
            assert row["q_value"] == pytest.approx(q_values.get(node), rel=1e-6)


@pytest.mark.parametrize(("old", "new"), STEPS)
def test_pairs_with_their_intervals_and_tests(small: Path, old: str, new: str) -> None:
    before, after = joints(old), joints(new)
    tested = [
        pair for pair in sorted({*before, *after}) if (before[pair] + after[pair]) / 2 >= LEAST
    ]
    table = compared(small, old, new).pairs
    sides = supports(old), supports(new)
    told = {}

    assert table.select("a", "b").rows() == tested
    for row in table.iter_rows(named=True):
        pair = a, b = row["a"], row["b"]
        k, m = before[pair], after[pair]
        expected = [own[a] * own[b] / N for own in sides]
        p_value = p_of_difference((m, N), (k, N))
        beyond = binomial(m, k + m, expected[1] / sum(expected))
        lift = (m / expected[1]) / (k / expected[0]) if k else float("inf")
        assert (row["joint_old"], row["joint_new"]) == (k, m)
        for place, own in zip(("old", "new"), sides, strict=True):
            assert (row[f"support_a_{place}"], row[f"support_b_{place}"]) == (own[a], own[b])
        assert row["difference"] == pytest.approx((m - k) / N)
        assert (row["low"], row["high"]) == pytest.approx(newcombe(m / N, N, k / N, N))
        assert row["odds_ratio"] == pytest.approx(odds_ratio(k, N, m, N))
        assert row["lift_change"] == pytest.approx(lift)
        assert row["p_value"] == pytest.approx(p_value, rel=1e-6)
        assert row["nodes_p_value"] == pytest.approx(beyond, rel=1e-6)
        told[f"{a} {b}"] = p_value, beyond
    first, second = (rates_of({pair: ps[at] for pair, ps in told.items()}) for at in (0, 1))
    for row in table.iter_rows(named=True):
        pair, odds, lift = f"{row['a']} {row['b']}", row["odds_ratio"], row["lift_change"]
        apart = not 1 / FLOOR < odds < FLOOR and not 1 / FLOOR < lift < FLOOR
        alike = (lift > 1) == (row["difference"] > 0)
        beyond_chance = first[pair] <= RATE and second[pair] <= RATE
        assert row["changed"] == (apart and alike and beyond_chance)
        assert (row["relation"] is None) == (not row["changed"])
        if not row["changed"]:
            assert row["q_value"] == pytest.approx(first[pair], rel=1e-6)
            assert row["nodes_q_value"] == pytest.approx(second[pair], rel=1e-6)


def test_what_was_planted_is_told(small: Path) -> None:
    first, second = (compared(small, "first", new) for new in ("second", "third"))

    assert {"dog", "pet"} <= {*first.nodes.filter("changed")["node"]}
    assert {"dog", "pet"} <= {*second.nodes.filter("changed")["node"]}
    assert ("bird", "cow") in first.pairs.filter("changed").select("a", "b").rows()
    row = first.pairs.row(by_predicate=(pl.col("a") == "bird") & (pl.col("b") == "cow"), named=True)
    run = audit.read_run(small / "second").pairs.filter(a="bird", b="cow").collect()
    assert row["relation"] == "same_branch"
    assert row["ratio_new"] == run["ratio"].item()


def test_shares_of_persons_are_told_beside_those_of_instances(small: Path) -> None:
    """A person's share of instances; as many independent instances as vary as these shares do."""
    runs = [audit.read_run(small / f"{name}_grouped") for name in ("first", "second")]
    table = audit.compare_runs(*runs).nodes
    kept = [run.nodes.select("node", "group_sum", "group_squares").rows() for run in runs]
    for row, (node, k, squares), (_, m, squares_new) in zip(
        table.iter_rows(named=True), *kept, strict=True
    ):
        q, groups = (k + m) / 200, 100
        spread = (squares + squares_new - 2 * q * (k + m)) / 200 + q * q
        n = max(1, min(N, round(groups * q * (1 - q) / spread))) if spread > 1e-12 else groups
        assert row["node"] == node
        assert (row["mean_old"], row["mean_new"]) == pytest.approx((k / groups, m / groups))
        assert (row["low"], row["high"]) == pytest.approx(newcombe(m / 100, n, k / 100, n))
        whole = (round(k / 100 * n), n), (round(m / 100 * n), n)
        p_value = p_of_difference(*whole, groups - 1)
        assert row["p_value"] == pytest.approx(p_value, rel=1e-6)


def concerned(run: audit.AuditResult) -> Counter[str]:
    """Instances that each finding concerns, from its cases."""
    assert run.cases is not None
    return Counter(run.cases.collect()["finding"].cast(pl.String))


@pytest.mark.parametrize(("old", "new"), STEPS)
def test_findings_are_new_gone_worse_or_better_only_beyond_chance(
    small: Path, old: str, new: str
) -> None:
    runs = [audit.read_run(small / name) for name in (old, new)]
    comparison = audit.compare_runs(*runs)
    before, after = ({f.id: f for c in run.checks for f in c.findings} for run in runs)
    touched = [concerned(run) for run in runs]
    pairs = {(row["a"], row["b"]): row for row in comparison.pairs.iter_rows(named=True)}
    told = {row["id"]: row for row in comparison.findings.iter_rows(named=True)}
    p_values = dict[str, float]()
    for one, found in told.items():
        k, m = (own[one] for own in touched)
        if one.startswith("unexpected_pair"):
            row = pairs["bird", "cow"]
            p_values[one] = max(row["p_value"], row["nodes_p_value"])
            k, m = row["joint_old"], row["joint_new"]
        elif one.startswith("residual_overuse"):
            p_values[one] = found["p_value"]
            k, m = found["count_old"], found["count_new"]
        else:
            p_values[one] = p_of_difference((m, N), (k, N))
        assert (found["count_old"], found["count_new"]) == (k, m)
        assert found["p_value"] == pytest.approx(p_values[one], rel=1e-6)
        sizes = found["of_old"], found["of_new"]
        bounds = newcombe(m / sizes[1], sizes[1], k / sizes[0], sizes[0])
        assert (found["low"], found["high"]) == pytest.approx(bounds, rel=1e-3)
    assert told.keys() == before.keys() | after.keys()
    q_values = rates_of(p_values)
    for one, found in told.items():
        beyond = q_values[one] <= RATE
        if one not in before or one not in after:
            sure = "new" if one in after else "gone"
            assert found["change"] == (sure if beyond else "limit")
        elif not beyond:
            assert found["change"] == "same"
    unlisted = told["unknown_code:refused"]["change"]
    assert unlisted == {"second": "same", "third": "worse", "first": "better"}[new]


@pytest.mark.parametrize(("old", "new"), STEPS)
def test_the_table_of_findings_has_both_sides(
    small: Path, tmp_path: Path, old: str, new: str
) -> None:
    runs = [audit.read_run(small / name) for name in (old, new)]
    made("compare", small / old, small / new, "--out", tmp_path / "out", "--quiet")
    table = pl.read_parquet(tmp_path / "out" / "restricted" / "finding_changes.parquet")
    sides = [{f.id: f for c in run.checks for f in c.findings} for run in runs]
    assert {*table["id"]} == sides[0].keys() | sides[1].keys()
    for row in table.iter_rows(named=True):
        for side, place in zip(sides, ("old", "new"), strict=True):
            found = side.get(row["id"])
            severity = None if found is None else found.judged_severity
            assert row[f"severity_{place}"] == severity
            effect = None if found is None else found.evidence[row["effect"]]
            assert row[f"effect_{place}"] == effect
            if found is None:
                assert row[f"touched_{place}"] is None


def test_totals_and_rows_that_are_shared(small: Path, tmp_path: Path) -> None:
    made("compare", small / "first", small / "second", "--out", tmp_path / "out", "--quiet")
    shared = read_json(tmp_path / "out" / "comparison.json")
    comparison = compared(small, "first", "second")
    changes = Counter(comparison.findings["change"])

    assert shared == json.loads(json.dumps(comparison.shared()))
    assert shared["identity"] == {
        place: read_json(small / name / "result.json")["identity"]
        for place, name in (("old", "first"), ("new", "second"))
    }
    assert {place: own["rows_read"] for place, own in shared["ledger"].items()} == {
        "old": audit.read_run(small / "first").ledger["rows_read"],
        "new": audit.read_run(small / "second").ledger["rows_read"],
    }
    assert shared["min_cell"] == 1
    assert shared["changed"] is True
    assert {name: shared["totals"][name] for name in ("new", "gone", "worse", "better")} == {
        name: changes[name] for name in ("new", "gone", "worse", "better")
    }
    assert shared["edits"]["rows"] == []
    assert shared["model"] is None
    assert [one["changed"] for one in shared["causes"] if one["name"] == "data"] == [True]
    (finding,) = next(c for c in shared["checks"] if c["name"] == "unexpected_pair")["findings"]
    row = comparison.pairs.row(
        by_predicate=(pl.col("a") == "bird") & (pl.col("b") == "cow"), named=True
    )
    assert (finding["change"], finding["severity_old"], finding["severity_new"]) == (
        *("new", None, "note"),
    )
    assert (finding["count_old"], finding["of_old"]) == (row["joint_old"], N)
    assert (finding["count_new"], finding["of_new"]) == (row["joint_new"], N)
    assert (finding["low"], finding["high"]) == pytest.approx((row["low"], row["high"]))


def test_the_files_and_manifests_of_a_comparison(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made("compare", small / "first_modelled", small / "second_modelled", "--out", out, "--quiet")
    tables = ("node", "pair", "finding", "metric")
    manifest = read_json(out / "manifest.json")

    assert {*held(out)} == {
        *("comparison.html", "comparison.json", "manifest.json", "restricted/manifest.json"),
        *(f"restricted/{name}_changes.parquet" for name in (*tables, "label")),
        "restricted/hierarchy_edits.parquet",
    }
    assert manifest["inputs"] == [
        {
            "role": role,
            "path": str(small / name / "result.json"),
            "sha256": sha256((small / name / "result.json").read_bytes()),
        }
        for role, name in (("old", "first_modelled"), ("new", "second_modelled"))
    ]
    for at in ("", "restricted/"):
        for name, digest in read_json(out / f"{at}manifest.json")["outputs"].items():
            assert digest == sha256((out / name).read_bytes())


@pytest.mark.parametrize(
    ("old", "new", "predictions"), [("", "_modelled", "only_new"), ("_modelled", "", "only_old")]
)
def test_a_model_in_one_run_alone_is_told(
    small: Path, old: str, new: str, predictions: str
) -> None:
    model = compared(small, f"first{old}", f"second{new}").model

    assert model is not None
    assert model.predictions == predictions
    assert model.metrics.is_empty()


@pytest.mark.parametrize(("old", "new"), [*STEPS[:1], ("second", "first")])
def test_labels_that_changed_on_the_same_records(small: Path, old: str, new: str) -> None:
    """One lost and one gained are an exchange; others stand beside nothing."""
    records = compared(small, f"{old}_modelled", f"{new}_modelled").records
    before, after = (refused_too(one) for one in (old, new))
    common = {one for one in before.keys() & after.keys() if before[one] and after[one]}
    counted = Counter[tuple[str | None, str | None]]()
    for one in common:
        lost, gained = before[one] - after[one], after[one] - before[one]
        if len(lost) == len(gained) == 1:
            counted[lost.pop(), gained.pop()] += 1
        else:
            counted.update([(label, None) for label in lost] + [(None, label) for label in gained])

    assert records is not None
    assert records.common == len(common)
    assert records.changed == sum(before[one] != after[one] for one in common) > 0
    rows = records.labels.select("label_old", "label_new", "records").rows()
    assert {(was, now): n for was, now, n in rows} == counted
    assert {was is None or now is None for was, now, _ in rows} == {True, False}
    assert [n for *_, n in rows] == sorted(counted.values(), reverse=True)
    kept = audit.read_run(small / new)
    assert audit.compare_runs(replace(kept, instances=None), kept).records is None


def refused_too(release: str) -> dict[str, set[str]]:
    """The labels of each record as they are written, those that are no nodes included."""
    own: dict[str, set[str]] = {}
    for instance, label, *_ in rows(release):
        own.setdefault(instance, set()).update(filter(None, [label.strip()]))
    return own


def test_metrics_of_two_models_are_those_of_the_runs(small: Path) -> None:
    runs = [audit.read_run(small / f"{name}_modelled") for name in ("first", "second")]
    model = audit.compare_runs(*runs).model
    assert model is not None

    def by_name(run: audit.AuditResult) -> dict[tuple[str, ...], tuple[float | None, int]]:
        return {
            (one["name"], one["scope"], json.dumps(dict(one["parameters"]), sort_keys=True)): (
                *(one["value"], one["n"]),
            )
            for one in run.metric_rows
        }

    before, after = map(by_name, runs)
    assert model.predictions == "differ"
    assert len(model.metrics) >= len(before.keys() & after.keys())
    for row in model.metrics.iter_rows(named=True):
        key = row["name"], row["scope"], row["parameters"]
        was, n = before[key]
        now, m = after[key]
        assert (row["old"], row["new"]) == pytest.approx((was, now))
        assert (row["n_old"], row["n_new"]) == (n, m)
        assert row["difference"] == pytest.approx(now - was)
        if row["low"] is not None:
            assert row["low"] <= row["high"]


def test_how_many_instances_two_models_answer_otherwise(small: Path) -> None:
    """Scores that are not there are 0; an answer is a score of at least a half."""
    runs = [audit.read_run(small / f"{name}_modelled") for name in ("first", "second")]
    model = audit.compare_runs(*runs).model
    scored = []
    for run in runs:
        assert run.instances is not None
        own: dict[str, dict[str, float]] = {}
        for row in run.instances.collect().iter_rows(named=True):
            if row["score"] is not None:
                own.setdefault(row["instance"], {})[row["node"]] = row["score"]
        scored.append({one: {n: s for n, s in of.items() if s} for one, of in own.items()})
    common = scored[0].keys() & scored[1].keys()
    least = runs[0].ledger["predictions"]["decision_threshold"]
    answers = [{one: {n for n, s in of.items() if s >= least} for one, of in own.items()}
               for own in scored]  # fmt: skip

    assert model is not None
    assert model.common == len(common) > 0
    assert model.scores_differ == sum(scored[0][one] != scored[1][one] for one in common) > 0
    assert model.answers_differ == sum(answers[0][one] != answers[1][one] for one in common) > 0
    assert runs[0].ledger["predictions"]["single_label"] is False


def test_a_run_compared_with_itself_has_not_changed(small: Path) -> None:
    for name in ("first", "first_grouped", "first_modelled"):
        comparison = compared(small, name, name)
        assert not comparison.changed
        assert not any(cause["changed"] for cause in comparison.causes)
        assert comparison.nodes["p_value"].null_count() == len(NODES)
        assert {*comparison.nodes["difference"]} == {0.0}
        assert comparison.pairs.is_empty()
        assert {*comparison.findings["change"]} == {"same"}
        assert comparison.model is None or comparison.model.predictions == "same"


def edited(small: Path, folder: Path) -> Path:
    """Audit the first release by a hierarchy without ferns, with shrubs, tools below plants, and
    dogs under another title; the folder of the run.
    """
    moved = {("tool", "thing"): ("tool", "plant"), ("fern", "plant"): ("shrub", "plant")}
    edges = [moved.get(edge, edge) for edge in EDGES]
    titles = {**TITLES, "dog": "Hound", "shrub": "Shrub"}
    for name in ("policy.toml",):
        shutil.copy(small / name, folder)
    write_table(
        folder / "tree.csv",
        ("child", "parent", "title"),
        [("thing", "", "Thing"), *((child, parent, titles[child]) for child, parent in edges)],
    )
    made("run", small / "first.csv", *options(folder, folder / "run", "--quiet"))
    return folder / "run"


def test_edits_of_the_hierarchy(small: Path, tmp_path: Path) -> None:
    run = edited(small, tmp_path)
    comparison = audit.compare_runs(audit.read_run(small / "first"), audit.read_run(run))
    edits = {
        (row["edit"], row["node"]): (row["old"], row["new"])
        for row in comparison.edits.iter_rows(named=True)
    }
    back = audit.compare_runs(audit.read_run(run), audit.read_run(small / "first"))

    assert edits == {
        ("added", "shrub"): ([], []),
        ("removed", "fern"): ([], []),
        ("moved", "tool"): (["thing"], ["plant"]),
        ("retitled", "dog"): (["Dog"], ["Hound"]),
    }
    assert {cause["name"]: cause["changed"] for cause in comparison.causes} == {
        "data": False,
        "hierarchy": True,
        "normaliser": False,
        "tool": False,
        "policy": False,
    }
    assert comparison.shared()["edits"]["totals"] == {
        "added": 1,
        "removed": 1,
        "moved": 1,
        "retitled": 1,
        "assignable_changed": 0,
    }
    assert {(row["edit"], row["node"]) for row in back.edits.iter_rows(named=True)} == {
        *(("removed", "shrub"), ("added", "fern"), ("moved", "tool"), ("retitled", "dog"))
    }


def test_another_policy_is_a_cause(small: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text((small / "policy.toml").read_text().replace('"warning"', '"error"'))
    shutil.copy(small / "tree.csv", tmp_path)
    made("run", small / "first.csv", *options(tmp_path, tmp_path / "run", "--quiet"))
    comparison = audit.compare_runs(
        audit.read_run(small / "first"), audit.read_run(tmp_path / "run")
    )

    assert [one["name"] for one in comparison.causes if one["changed"]] == ["policy"]
    assert comparison.nodes["p_value"].null_count() == len(NODES)
    assert not comparison.nodes["changed"].any()
    statuses = {one["name"]: (one["status_old"], one["status_new"]) for one in comparison.checks}
    assert statuses["unknown_code"] == ("warn", "fail")


def test_the_summary_for_machines(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("compare", small / "second", small / "third", "--out", out, "--json")
    summary = json.loads(made(*words, "--junit", tmp_path / "out.xml"))
    shared = read_json(out / "comparison.json")

    assert summary == {"comparison": str(out), **shared, "not_written": []}
    assert summary["totals"]["worse"] == 1
    (suite,) = ET.parse(tmp_path / "out.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == [
        check["name"] for check in shared["checks"]
    ]
    (failed,) = suite.findall("testcase/failure") or [None]
    worse = {one["severity_new"] for check in shared["checks"] for one in check["findings"]
             if one["change"] in ("new", "worse")}  # fmt: skip
    assert (failed is not None) == ("error" in worse)


def test_the_same_runs_give_the_same_bytes(small: Path, tmp_path: Path) -> None:
    def written(name: str) -> dict[str, bytes]:
        made("compare", small / "first", small / "third", "--out", tmp_path / name, "--quiet")
        return {
            file: content
            for file, content in held(tmp_path / name).items()
            if file not in ("manifest.json", "comparison.html")
        }

    assert written("a") == written("b")


def test_a_comparison_is_replaced_only_if_that_is_asked(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("compare", small / "first", small / "second", "--quiet", "--out")
    made(*words, out)
    before = held(out)

    refused(*words, out)
    assert held(out) == before
    made("compare", small / "first", small / "third", "--quiet", "--out", out, "--overwrite")
    assert held(out)["comparison.json"] != before["comparison.json"]
    shutil.copytree(small / "first", tmp_path / "run")
    refused(*words, tmp_path / "run", "--overwrite")
    assert held(tmp_path / "run") == held(small / "first")


def test_what_cannot_be_compared_is_refused_and_leaves_nothing(small: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    write_table(other / "tree.csv", ("child", "parent"), [("x", "r"), ("y", "r")])
    write_table(other / "data.csv", ("instance", "label"), [("1", "x"), ("2", "y")])
    made("run", other / "data.csv", "--hierarchy", other / "tree.csv", "--no-pdf", "--out",
         other / "run")  # fmt: skip
    wrong: dict[str, tuple[Any, ...]] = {
        "nothing there": (small / "first", tmp_path / "absent"),
        "no run": (small / "first", other),
        "another hierarchy": (small / "first", other / "run"),
        "a file for a folder": (small / "first", small / "second", "--junit", other),
    }
    for words in wrong.values():
        refused("compare", *words, "--out", out)
        assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]


@pytest.mark.parametrize("alone", ["a copy without restricted/", "result.json alone"])
def test_what_is_shared_may_be_either_side(small: Path, tmp_path: Path, alone: str) -> None:
    place = tmp_path / "first"
    shutil.copytree(small / "first", place, ignore=shutil.ignore_patterns("restricted"))
    side = place / "result.json" if alone.startswith("result") else place
    for number, sides in enumerate([(side, small / "second"), (small / "second", side)]):
        out = tmp_path / f"out{number}"
        told = json.loads(made("compare", *sides, "--out", out, "--json"))
        lists = ("runs", "checks", "metrics", "findings", "steps")
        shared = read_json(out / "comparison.json")

        assert {name: shared[name] for name in lists} == {name: told[name] for name in lists}
        assert [run["instances"] for run in told["runs"]] == [N, N]
        appeared = {one["id"] for one in told["findings"] if one["steps"] == ["appeared"]}
        there, here = (
            {f.id for c in audit.read_run(small / name).checks for f in c.findings}
            for name in (("first", "second") if number == 0 else ("second", "first"))
        )
        assert appeared == here - there
        assert [one.outcome for one in audit.verify_run(out)] == ["holds", "not checked"]
        refused("compare", *sides, "--out", tmp_path / "new", "--junit", tmp_path / "a.xml")
    (place / "result.json").write_text("{}")
    refused("compare", side, small / "second", "--out", tmp_path / "new")
    shutil.rmtree(place)
    refused("compare", side, small / "second", "--out", tmp_path / "new")
