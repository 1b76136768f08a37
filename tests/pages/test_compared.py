"""The page of a comparison and the chapters of a history say what their views say."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from audit import AuditError, compare_runs, run_audit
from fixtures.labelled import labelled, repeated, tree
from fixtures.leaving import SharedRun, history_of
from reports.compared import chapters, comparison_html, history, history_html
from reports.render import ShownTable

OLD = tree("lung heart < body", "asthma cough fit < lung", "attack angina < heart",
           titles={"asthma": "Asthma", "cough": "Cough <script>"})  # fmt: skip
NEW = tree("lung heart < body", "asthma < lung", "attack angina cough flu < heart",
           titles={"asthma": "Asthma, all kinds", "cough": "Cough <script>"})  # fmt: skip
BEFORE = repeated([(200, ["asthma"]), (200, ["cough"]), (30, ["fit"]), (300, ["attack"])])
AFTER = repeated([(400, ["asthma"]), (200, ["cough"]), (9, ["flu"]), (290, ["attack"]),
                  (120, ["lung", "asthma"])])  # fmt: skip
RUNS = [
    run_audit(labelled(hierarchy, labels, persons=True))
    for hierarchy, labels in ((OLD, BEFORE), (NEW, AFTER))
]


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return compare_runs(*RUNS).shared()


def words(html: str) -> str:
    """What is read, tags left out."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]+>", " ", html,
                                    flags=re.DOTALL)).split())  # fmt: skip


def named(made: list[Any]) -> dict[str, ShownTable]:
    return {table.title: table for chapter in made for table in chapter.tables}


def test_a_comparison_says_what_its_view_says(shared: dict[str, Any]) -> None:
    html = comparison_html(shared)
    text = words(html)

    assert "Cough <script>" in text
    assert "<script>" not in html
    assert not re.search(r"https?:|url\(|@import", html)
    for row in (*shared["nodes"]["rows"], *shared["edits"]["rows"]):
        assert row["node"] in text
    for cause in shared["causes"]:
        assert (cause["statement"] in text) is cause["changed"]
    for check in shared["checks"]:
        for one in check["findings"]:
            assert one["id"] in text
    for term in shared["terms"]:
        assert term["reason"] in text


def test_numbers_are_written_by_their_kinds(shared: dict[str, Any]) -> None:
    row = shared["nodes"]["rows"][0]
    shown = named(chapters(shared))["Nodes whose use changed most"]

    before, after, apart = (one.said for one in shown.rows[0][1:4])
    assert re.fullmatch(r"[<>]?[\d.]+%", before)
    assert re.fullmatch(r"[<>]?[\d.]+%", after)
    sign = "+" if row["difference"] > 0 else "−"
    assert apart.startswith(sign)
    assert " to " in apart


def test_checks_of_which_findings_changed_are_told(shared: dict[str, Any]) -> None:
    checks = [{**one, "status_old": one["status_new"]} for one in shared["checks"]]
    edits = {**shared["edits"], "rows": shared["edits"]["rows"][1:]}
    shown = named(chapters({**shared, "checks": checks, "edits": edits}))
    told = [
        one["name"].replace("_", " ")
        for one in checks
        if any(n for name, n in one["changes"].items() if name not in ("same", "not_asked"))
    ]

    assert [row[0].text for row in shown["Checks whose result changed"].rows] == told
    assert shown["Edits of the hierarchy"].more == 1


def test_two_runs_of_one_dataset_differ_in_nothing() -> None:
    same = comparison_html(compare_runs(RUNS[0], RUNS[0]).shared())

    assert "Nothing changed that a comparison can show." in words(same)
    assert "Checks whose result changed" not in same


def test_what_cannot_be_rendered_is_a_clear_error(shared: dict[str, Any]) -> None:
    with pytest.raises(AuditError, match=r"comparison\.html could not be rendered"):
        comparison_html({name: one for name, one in shared.items() if name != "causes"})


def test_a_history_has_a_column_for_each_run() -> None:
    fewer = repeated([(400, ["asthma"]), (90, ["nonsense"]), (300, ["attack"])])
    same = run_audit(labelled(OLD, fewer, persons=True))
    runs = [SharedRun(name, None, run.shared(), name)
            for name, run in (("a", RUNS[0]), ("b", same))]  # fmt: skip
    told = history_of(runs, as_named=True)

    made = history(told)
    every = named(made)

    step = told["steps"][0]
    became = [step[one] for one in ("appeared", "disappeared", "persisting", "not_asked")]
    assert [one.text for one in every[""].rows[1]][-4:] == [f"{n}" for n in became]
    assert [one.text for one in every["Findings by run"].headings] == ["Check", "1", "2"]
    numbers = {row[0].text: [one.text for one in row[1:]] for row in every["Findings by run"].rows}
    for check in {row["check"] for row in told["checks"] if row["found"]}:
        found = [row["found"] for row in told["checks"] if row["check"] == check]
        assert numbers[check] == ["–" if n is None else f"{n}" for n in found]
    came = [one for one in told["findings"] if {*one["steps"]} & {"appeared", "disappeared"}]
    shown = every.get("Findings that came or went")
    assert (shown is None) is (not came)
    assert shown is None or all(
        one["id"] in row[1].text for row, one in zip(shown.rows, came, strict=False)
    )
    page = history_html(told)
    text = words(page)
    assert "<script>" not in page
    assert text.startswith("2 runs hierarchy-audit")
    assert f"It lists {step['appeared']:,} findings that the run before does not" in text
    for table in every.values():
        for row in table.rows:
            assert all(cell.text in text for cell in row)
