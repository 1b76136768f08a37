"""What is read of a run's pairs is what was computed when it was made, in every column."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit import AuditResult, Hierarchy, Policy, read_run, run_audit, write_run
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.registered import PAIR_COLUMNS as COLUMNS
from fixtures.registered import relate_two
from fixtures.strategies import hierarchies, label_sets

LOW = Policy.model_validate(
    {
        name: {"value": value, "reason": "drawn"}
        for name, value in {"least_joint": 2, "false_discovery_rate": 0.9}.items()
    }
)


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, list[frozenset[str]], list[str], list[str]]:
    """A hierarchy; labels of some instances, the group of each and what is predicted, or none."""
    hierarchy = draw(hierarchies(max_nodes=9))
    sets = draw(label_sets(hierarchy, max_instances=30).filter(any))
    groups, answers = (
        draw(st.just([]) | st.lists(st.sampled_from(of), min_size=len(sets), max_size=len(sets)))
        for of in ("gh", hierarchy.nodes)
    )
    return hierarchy, sets, groups, answers


def audited(
    hierarchy: Hierarchy, sets: list[frozenset[str]], groups: list[str], answers: list[str]
) -> AuditResult:
    rows = {f"i{at}": sorted(own) for at, own in enumerate(sets)}
    of = dict(zip(rows, groups, strict=True)) if groups else None
    dataset = labelled(hierarchy, rows, groups=of)
    scores = {name: {node: 0.5} for name, node in zip(rows, answers, strict=False)}
    guessed = predicted(dataset, scores) if answers else None
    return run_audit(dataset, LOW, predictions=guessed)


@pytest.mark.slow
@settings(max_examples=10)
@given(releases())
def test_a_run_gives_every_column_as_it_was_computed(
    release: tuple[Hierarchy, list[frozenset[str]], list[str], list[str]],
) -> None:
    result = audited(*release)
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(result, Path(folder) / "run")
        again = read_run(run)
        for made, kept in _tables(result, again):
            whole = made.frame.collect()
            assert list(whole.columns[: len(COLUMNS)]) == list(COLUMNS)
            assert_frame_equal(kept.frame.collect(), whole, check_exact=True)
            assert_frame_equal(kept.frame.collect(engine="streaming"), whole, check_exact=True)
            for name in whole.columns:
                assert_frame_equal(kept.frame.select(name).collect(), whole.select(name))
            chosen = (pl.col("relation") != "ancestor") & (pl.col("joint") > 1)
            assert_frame_equal(kept.frame.filter(chosen).collect(), whole.filter(chosen))
            assert_frame_equal(
                kept.frame.filter(chosen).head(2).collect(), whole.filter(chosen)[:2]
            )
            few = whole["b"].unique(maintain_order=True)[1:]
            both = whole.filter(pl.all_horizontal(pl.col("a", "b").is_in(few.implode())))
            assert_frame_equal(kept.within(few).collect(), both)
            assert_frame_equal(
                kept.frame.head(2).filter(chosen).collect(), whole[:2].filter(chosen)
            )
            assert kept.frame.select(pl.len()).collect().item() == len(whole)
        assert_follows_from(run, again)


def _tables(made: AuditResult, kept: AuditResult) -> Iterator[tuple[Any, Any]]:
    yield made.pair_table, kept.pair_table
    if made.model is not None:
        assert kept.model is not None
        yield made.model.pair_table, kept.model.pair_table


def assert_follows_from(run: Path, result: AuditResult) -> None:
    """Each column by the words of the docs, from the tables alone, in plain Python."""

    def rows(name: str) -> list[dict[str, Any]]:
        return pl.read_parquet(run / "restricted" / f"{name}.parquet").to_dicts()

    nodes, margins, strata = rows("nodes"), rows("pair_margins"), rows("pair_strata")
    judged = {(row["a"], row["b"]): row for row in rows("judged_pairs")}
    for row, told in zip(rows("pairs"), result.pairs.collect().to_dicts(), strict=True):
        a, b = row["a"], row["b"]
        supports, joint = (nodes[a]["support"], nodes[b]["support"]), row["joint"]
        own = judged.get((a, b), {"p_value": 1.0, "q_value": 1.0})
        relation, lca = relate_two(result.hierarchy, a, b)
        n, apart = result.size, joint - row["joint_entailed"]
        wanted = {
            "a": nodes[a]["node"],
            "b": nodes[b]["node"],
            "support_a": supports[0],
            "support_b": supports[1],
            "rate": joint / n,
            "confusion": joint / n if row["confusion"] is None else row["confusion"],
            "expected": supports[0] * supports[1] / n,
            "lift": joint / (supports[0] * supports[1] / n),
            "relation": relation,
            "lca": nodes[lca]["node"],
        }
        used = margins[a]["judged"] and margins[b]["judged"]
        if used and relation != "ancestor" and own["p_value"] is not None:
            length = expected_length(margins[a], margins[b], strata)
            weighed = apart if row.get("observed") is None else row["observed"]
            wanted |= {"expected_length": length, **own, "a": told["a"], "b": told["b"]}
            if length > 0:
                wanted["ratio"] = weighed / length
            if "observed" in row:
                wanted["observed"] = weighed
        if "group_sum" in row and apart:
            wanted["group_sum"] = apart if row["group_sum"] is None else row["group_sum"]
        counts = {"joint": joint, "joint_entailed": row["joint_entailed"]}
        nothing = dict.fromkeys(COLUMNS)
        for name, value in {**nothing, **counts, **wanted}.items():
            near = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert told[name] == near, name


def expected_length(a: dict[str, Any], b: dict[str, Any], strata: list[dict[str, Any]]) -> float:
    total = 0.0
    for stratum, p, q in zip(strata, a["share"], b["share"], strict=True):
        facets = round(len(stratum["factor"]) ** 0.5)
        factor = stratum["factor"][a["facet"] * facets + b["facet"]]
        total += stratum["weight"] * p * q * (1 - (1 - factor) * (1 - p) * (1 - q))
    return total


def test_others_read_pairs_as_the_docs_say(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "run.md").read_text("utf-8")
    (lines,) = re.findall(r"```python\n(import polars[^`]*?pairs\.parquet[^`]*?)```", page)
    rows = repeated([(9, ["cow", "owl"]), (3, ["cow"]), (4, ["owl", "dog"]), (5, ["dog"])])
    result = run_audit(labelled(tree("cow dog < mammal", "mammal owl < animal"), rows))
    write_run(result, tmp_path / "run")
    read: dict[str, Any] = {"result": result}
    exec(lines.replace("run/", f"{tmp_path.as_posix()}/run/"), read)

    columns = {"node": "a", "node_b": "b", "support": "support_a", "support_b": "support_b"}
    own = read["pairs"].drop("a", "b").rename(columns).select(*columns.values(), "lift")
    wanted = result.pairs.select(*columns.values(), "lift")
    assert_frame_equal(own.sort("a", "b").collect(), wanted.sort("a", "b").collect())
