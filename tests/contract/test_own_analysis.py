"""An analysis of one's own, with a check: run, written, read back, verified, compared and shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pypdfium2
import pytest
from jsonschema import Draft202012Validator

from audit import AuditError, AuditResult, Finding, Policy, read_run, run_audit, write_run
from fixtures.doors import command, made, rejudged, result_schema
from fixtures.explored import entered
from fixtures.labelled import labelled, tree
from fixtures.registered import (
    Analysis,
    Check,
    Found,
    Headline,
    Measurements,
    Outcome,
    Progress,
    kinds,
)

pytestmark = pytest.mark.slow

TREE = tree("heart lung < body", "asthma < lung", "body < top")
LABELS = {f"i{n:02}": ["asthma" if n % 3 else "heart"] for n in range(40)}
LENGTHS = {name: 5 + 10 * (place % 8 == 0) for place, name in enumerate(LABELS)}
SCHEMA = Draft202012Validator(result_schema())
SECRET = "not to be shared"


def long_texts(measured: Measurements) -> pl.Series:
    return measured.of("lengths").frames["long_texts"]["id"]


def find(measured: Measurements) -> Outcome:
    """Report that there are long texts."""
    long = long_texts(measured)
    finding = Finding(
        check="long_text",
        severity="warning",
        nodes=("asthma",),
        statement="{instances} texts are long.",
        evidence={
            "instances": len(long),
            "of": measured.n_instances,
            "share": len(long) / measured.n_instances,
        },
        curator="Cut them.",
        data_user="Cut them.",
        touched=len(long),
    )
    return Outcome(measured.n_instances, "texts", (finding,) if len(long) else ())


def cases(measured: Measurements, finding: Finding) -> np.ndarray:
    ids = measured.loaded.dataset.instances["instance"]
    return np.flatnonzero(ids.is_in(long_texts(measured).implode()).to_numpy())


CHECK = Check(
    "long_text",
    "Is any text long?",
    find,
    reads="lengths",
    cases=cases,
    evidence=kinds.Columns(
        kinds.count("instances"),
        kinds.exact("of", reason="all instances audited"),
        kinds.share("share", of="instances of"),
    ),
)


@dataclass(frozen=True, eq=False)
class TextLengths(Analysis):
    """Lengths of the instances' texts."""

    name: ClassVar[str] = "lengths"
    checks: ClassVar[tuple[Check, ...]] = (CHECK,)
    tables: ClassVar = {
        "by_label": kinds.Table(
            kinds.Columns(
                kinds.text("node", "Node"),
                kinds.estimate("mean", "Mean", n="instances", reason="any length", ends="low high"),
                kinds.count("instances", "Instances"),
            ),
            title="By label",
            row="a label",
        )
    }
    facts = kinds.Columns(kinds.count("texts", "Texts"), kinds.text("measured_in", "Measured in"))
    headlines = (Headline("by_label", "mean", "instances", (("method", "node"),), "length"),)

    lengths: dict[str, int]
    table: str = "by_label"

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        rows = pl.DataFrame({"id": [*self.lengths], "length": [*self.lengths.values()]})
        labels = pl.DataFrame({"id": [*LABELS], "node": [own[0] for own in LABELS.values()]})
        by_label = rows.join(labels, on="id").group_by("node", maintain_order=True)
        table = by_label.agg(mean=pl.col("length").mean(), instances=pl.len())
        bounds = table.with_columns(low=pl.col("mean") - 1, high=pl.col("mean") + 1)
        long = rows.filter(pl.col("length") > 10).select("id", why=pl.lit(SECRET))
        frames = {self.table: bounds.sort("node"), "long_texts": long}
        return Found(frames, {"texts": len(self.lengths), "measured_in": "words"})


def audited(**lengths: int) -> AuditResult:
    policy = Policy(min_cell=1)
    return run_audit(labelled(TREE, LABELS), policy, analyses=[TextLengths(LENGTHS | lengths)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    write_run(audited(), folder / "old")
    write_run(audited(i01=20), folder / "new")
    return folder


def test_it_is_in_the_result_and_read_back_without_its_class(runs: Path) -> None:
    shared, back = audited().shared(), read_run(runs / "old")
    own, part = shared["analyses"]["lengths"], back.analysis("lengths")

    assert list(SCHEMA.iter_errors(json.loads(json.dumps(shared)))) == []
    assert own["facts"] == {"texts": 40, "measured_in": "words"}
    assert [row["node"] for row in own["by_label"]] == ["asthma", "heart"]
    named = [metric["parameters"] for metric in shared["metrics"]]
    assert named == [{"method": "asthma"}, {"method": "heart"}]
    assert shared["checks"][0]["findings"][0]["statement"] == "5 texts are long."
    assert SECRET not in json.dumps(shared)
    assert back.shared() == shared
    assert part is not None
    assert part.restricted["long_texts"].lazy().collect()["why"].unique().to_list() == [SECRET]


def test_it_is_verified_listed_and_compared(runs: Path) -> None:
    made("verify", runs / "old")
    table = runs / "old" / "restricted" / "analysis_lengths_by_label.parquet"
    before = table.read_bytes()
    table.write_bytes(before[:-1] + b"x")
    broken = command("verify", runs / "old")
    table.write_bytes(before)
    assert broken.exit_code
    assert table.name in broken.output

    finding = next(iter(audited().cases.collect()["finding"]))  # type: ignore[union-attr]
    assert made("cases", runs / "old", finding).split() == ["i00", "i08", "i16", "i24", "i32"]
    made("compare", runs / "old", runs / "new", "--out", runs / "changes")
    assert "long_text" in (runs / "changes" / "comparison.json").read_text("utf-8")


def test_it_is_in_the_report_the_pdf_and_the_window(runs: Path) -> None:
    made("report", runs / "old")
    html = (runs / "old" / "report.html").read_text("utf-8")
    with pypdfium2.PdfDocument(runs / "old" / "report.pdf") as document:
        printed = "\n".join(page.get_textpage().get_text_bounded() for page in document)
    for written in (html, printed):
        assert all(one in written for one in ("By label", "Measured in", "Is any text long?"))
        assert SECRET not in written
    assert '<section id="lengths"' in html
    with entered(runs / "old") as visitor:
        listed = visitor.get("/tables").text
        links = {link for link in re.findall(r'href="([^"]*)"', listed) if "/table/" in link}
        pages = [visitor.get(link).text for link in sorted(links)]
    assert "By label" in listed
    assert any(SECRET in page for page in pages)


def test_a_policy_names_its_check_and_judges_its_run_again(runs: Path) -> None:
    stricter, data = Policy(severities={"long_text": "error"}), labelled(TREE, LABELS)

    assert run_audit(data, stricter, analyses=[TextLengths(LENGTHS)]).status == "fail"
    with pytest.raises(AuditError, match="long_text"):
        run_audit(data, stricter)
    back = read_run(runs / "old")
    assert rejudged(back, stricter, today=date(2030, 1, 1)).status == "fail"


def test_it_has_a_name_of_its_own_and_tables_that_can_be_stored_and_shared_by_a_rule() -> None:
    class Named(TextLengths):
        pass

    data, own = labelled(TREE, LABELS), TextLengths(LENGTHS)
    for name in ("", "Lengths", "two words", "with_line", "concepts", "ä"):
        Named.name = name
        with pytest.raises(AuditError, match="name of its own"):
            run_audit(data, analyses=[Named(LENGTHS)])
    with pytest.raises(AuditError, match="name of its own"):
        run_audit(data, analyses=[own, own])
    for table in ("facts", "../up", ""):
        with pytest.raises(AuditError, match="each table of an analysis"):
            run_audit(data, analyses=[TextLengths(LENGTHS, table)])
    part = audited().analysis("lengths")
    assert part is not None
    with pytest.raises(AuditError, match="a rule if it is shared"):
        replace(part, rules={})
