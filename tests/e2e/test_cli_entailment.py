"""``audit entailment`` from files to a run: findings, tables, what is shared, and mistakes."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.commands import audit
from fixtures.tuple_files import SAMPLE, VOTES

pytestmark = pytest.mark.slow

PLANTED = {"head_in_two_splits", "contradiction", "weak_label", "tail_mismatch", "cycle"}
TUPLES, SCORES = SAMPLE / "tuples.csv", SAMPLE / "scores.csv"
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "entailment.md"
PRINTED = "a933681f8705d74b8c4e54b35ac6d060610bbcc4c84d4c3d7e82fd020468a10b"
"""Digest of the eight prompts of tables 11 and 12, a line each, as the paper prints them."""


def made_run(out: Path, *arguments: object) -> Any:
    made = audit("entailment", *arguments, "--no-pdf", "--out", out)
    assert made.exit_code == 0, made.output
    return json.loads((out / "result.json").read_bytes())


def findings(shared: Any) -> dict[str, list[Any]]:
    return {check["name"]: check["findings"] for check in shared["checks"] if check["findings"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("entailment") / "run"
    made_run(out, TUPLES, *VOTES, "--predictions", SCORES)
    return out


@pytest.fixture(scope="module")
def shared(run: Path) -> Any:
    return json.loads((run / "result.json").read_bytes())


def test_what_is_planted_in_the_sample_is_found_and_nothing_else(shared: Any) -> None:
    assert {name: len(own) for name, own in findings(shared).items()} == dict.fromkeys(PLANTED, 1)
    Draft202012Validator(result_schema()).validate(shared)


def test_the_page_says_how_good_the_model_and_the_concept_alone_are(shared: Any) -> None:
    page = PAGE.read_text("utf-8")
    rows = {
        (row["model"], row["measure"]): row
        for row in shared["entailment"]["detection_measured"]
        if row["relation"] == "All"
    }
    small, alone = rows["small", "accuracy"], rows["concept_alone", "accuracy"]
    for number in (*(small[end] for end in ("value", "low", "high")), alone["value"]):
        assert f"{number:.2f}".lstrip("0") in page
    for count in (shared["entailment"]["facts"]["tuples"], small["n"]):
        assert f"{count:,}" in page


def test_the_recipe_of_the_page_keeps_heads_with_an_instance_in_one_split() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    keys = pl.read_csv(TUPLES).select("head", "instance").unique().rows()
    given = [names["split"](*key) for key in keys]
    assert given == [names["split"](head.upper(), f" {one} ") for head, one in keys]
    shares = {name: given.count(name) / len(keys) for name in ("train", "valid", "test")}
    assert shares == pytest.approx({"train": 0.8, "valid": 0.1, "test": 0.1}, abs=0.05)


def test_the_prompts_of_the_page_are_those_of_the_paper() -> None:
    blocks = re.findall(r"```text\n(.*?)\n```", (DOCS / "prompts.md").read_text("utf-8"), re.DOTALL)
    (noun,), (event,), (of_words, of_sentence), (nli, _, reasoned) = (b.split("\n") for b in blocks)
    made = {"nli": nli, "nli reasoning": reasoned}
    for name, text, end in (
        ("Noun-Entail", noun, of_words),
        ("Verb-Entail", noun.replace("noun", "verb"), of_words),
        ("Event-Entail", event, of_sentence),
    ):
        bare = re.sub(",? and provide a “Yes” or “No” response", "", text)
        made |= {name: text, f"{name} reasoning": bare + end}
    marked = (
        re.sub(r"\{(\w+)\}", lambda m: f"[{m[1].upper()}]", made[name]) for name in sorted(made)
    )
    assert hashlib.sha256("\n".join(marked).encode()).hexdigest() == PRINTED


def test_a_run_is_read_verified_judged_and_listed(tmp_path: Path, run: Path, shared: Any) -> None:
    assert to_json_bytes(read_run(run).shared()) == (run / "result.json").read_bytes()
    shutil.copytree(run, copy := tmp_path / "run")
    (policy := tmp_path / "policy.toml").write_text('[severities]\ncycle = "error"\n', "utf-8")
    judged = ("--overwrite", "--policy", policy, "--fail-on", "error", "--no-pdf")
    (cycle,) = findings(shared)["cycle"]
    for command, status in (
        (("verify", run, "--recompute"), 0),
        (("cases", run, cycle["id"]), 0),
        (("report", copy, *judged), 1),
    ):
        made = audit(*command)
        assert made.exit_code == status, made.output


def test_files_of_splits_give_the_findings_of_one_file(tmp_path: Path, shared: Any) -> None:
    (parts := tmp_path / "parts").mkdir()
    rows = pl.read_csv(TUPLES, infer_schema=False)
    for (name,), own in rows.group_by("split", maintain_order=True):
        own.drop("split").write_csv(parts / f"{name}.tsv", separator="\t")
    for given in ((parts,), sorted(parts.iterdir())):
        of_parts = made_run(tmp_path / f"of-{len(given)}", *given, *VOTES)
        told, expected = (
            {name: [one["evidence"] for one in own] for name, own in findings(made).items()}
            for made in (of_parts, shared)
        )
        assert told == expected


def test_generated_concepts_and_ratings_are_measured_and_told(tmp_path: Path) -> None:
    given = ("--generations", SAMPLE / "generations.csv", "--ratings", SAMPLE / "ratings.csv")
    made = audit("entailment", TUPLES, *given, "--no-pdf", "--out", tmp_path / "run")
    assert made.exit_code == 0, made.output
    told = " ".join(made.output.split())
    assert "Generated concepts: used 45" in told
    assert "Ratings: rows read 135" in told


def test_refused_records_stand_in_the_ledger(tmp_path: Path) -> None:
    rows = pl.read_csv(TUPLES, infer_schema=False)
    unknown = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Adverb-Entail"))
    path = tmp_path / "tuples.parquet"
    rows.with_columns(relation=unknown.otherwise("relation")).write_parquet(path)
    shared = made_run(tmp_path / "run", path)
    assert shared["ledger"]["refused"] == {"bad_row": 3}
    assert shared["ledger"]["rows_read"] == len(rows)
    assert shared["entailment"]["facts"]["refused"] == {"unknown_relation": 3}


@pytest.mark.parametrize(
    "options",
    [
        ("--kind", "premises"),
        ("--column", "head"),
        ("--column", "votes=nobody_*"),
        ("--predictions", "missing.csv"),
        ("--ratings", SAMPLE / "ratings.csv"),
    ],
)
def test_a_mistake_is_one_message(tmp_path: Path, options: tuple[object, ...]) -> None:
    made = audit("entailment", TUPLES, *options, "--out", tmp_path / "mistaken")
    assert made.exit_code == 2, made.output
    assert "Traceback" not in made.output
    assert not (tmp_path / "mistaken").exists()


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="needs pdftotext")
def test_no_table_is_wider_than_the_printed_page(tmp_path: Path) -> None:
    made = audit("entailment", TUPLES, "--out", tmp_path / "run")
    assert made.exit_code == 0, made.output
    read = ["pdftotext", "-bbox", tmp_path / "run" / "report.pdf", "-"]
    told = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    width = min(map(float, re.findall(r'<page width="([\d.]+)"', told)))
    assert max(map(float, re.findall(r'xMax="([\d.]+)"', told))) < width
