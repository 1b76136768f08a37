"""What a terminal shows: the words, the order, and nothing that a terminal would obey."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress as Live

from audit.cli.output import following, progress_columns
from audit.cli.terminal.summary import TOP, summary
from audit.cli.terminal.tables import one_line
from audit.results.findings import NEEDS_INSTANCES
from audit.results.printed import NOT_TOLD

ROUNDING = {"bin": 10, "totals": {}}


def finding(severity: str = "warning", **changed: Any) -> dict[str, Any]:
    return {
        "severity": severity,
        "statement": "Below Heart failure (428), 978 of 1,351 instances (72.4%) are residual.",
        "evidence": {"share": 0.724, "low": 0.698, "high": 0.746},
        "waiver": None,
        "known": False,
        "unasked": False,
        "id": changed.get("statement", "one"),
        "curator": "Look at them. Then decide.",
    } | changed


def check(name: str, status: str, *findings: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "name": name,
        "status": status,
        "reason": None,
        "denominator": 1351,
        "denominator_unit": "instances",
        "counts": [],
        "total": len(findings),
        "folded": 0,
        "not_shown": 0,
        "not_told": False,
        "findings": list(findings),
    } | changed


def shared(*checks: dict[str, Any], **refused: int) -> dict[str, Any]:
    ledger = {"instances": 6, "rows_read": 9, "rows_mapped": 8, "refused": refused}
    ledger["predictions"] = None
    return {
        "status": "warn",
        "rounding": None,
        "ledger": ledger,
        "readings": [],
        "since_reference": None,
        "metrics": [],
        "overview": {"answered": []},
        "identity": {"hierarchy": {"name": "toy"}, "data": {"called": "instances"}},
        "worst": [f["id"] for one in checks for f in one["findings"] if f["waiver"] is None][:10],
        "checks": list(checks),
    }


def printed(view: dict[str, Any], width: int = 80, **options: Any) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, **options)
    console.print(summary(view, Path("audit-run")), crop=False)
    return stream.getvalue()


def words_of(text: str) -> str:
    return " ".join(text.split())


def test_the_verdict_comes_first_and_the_reading_last() -> None:
    lines = printed(shared(check("residual_overuse", "warn", finding()), unknown_code=1))

    assert lines.startswith("No errors; 1 of 1 check warns. 6 instances, 1 finding.")
    assert lines.rstrip().endswith("8 of 9 rows mapped to toy; refused: unknown_code 1.")


def test_nothing_refused_is_said() -> None:
    assert "refused: none." in printed(shared())


def test_a_check_that_found_something_has_a_line_with_its_denominator() -> None:
    view = shared(check("cross_branch", "note", finding("note"), not_shown=4, folded=3))
    line = next(line for line in printed(view).splitlines() if line.startswith("note  "))

    assert line.split() == ["note", "cross_branch", "1,351", "instances", "5", "1", "3"]


def test_shown_and_folded_findings_are_counted_only_where_they_are_not_all_and_none() -> None:
    text = printed(shared(check("cross_branch", "note", finding("note"))))
    heading = next(line for line in text.splitlines() if line.startswith("status"))

    assert heading.split() == ["status", "check", "looked", "at", "findings"]


def test_checks_stand_in_their_order_with_what_stopped_them() -> None:
    view = shared(
        check("three", "error", reason="ZeroDivisionError: by nothing"),
        check("two", "fail", finding("error")),
        check("one", "note", finding("note")),
    )
    table = next(one for one in printed(view).split("\n\n") if one.startswith("status"))
    table = table.splitlines()

    assert [line.split()[1] for line in table[1:]] == ["three", "two", "one"]
    assert "ZeroDivisionError: by nothing" in table[1]


def test_what_passes_and_what_does_not_apply_is_named_and_counted() -> None:
    of_counts = check("d", "not_applicable", reason=NEEDS_INSTANCES)
    view = shared(check("a", "pass"), check("b", "pass"), check("c", "not_applicable"), of_counts)

    text = printed(view)
    assert "2 pass: a, b" in text
    assert "1 not applicable: c\n" in text
    assert "1 not run, since the data were only counted, without single instances: d" in text


def test_the_findings_to_act_on_stand_first_with_their_ids_and_what_to_do() -> None:
    view = shared(
        check("many", "warn", finding(id="many 0", statement="Many are concerned. More.")),
        check("one", "warn", finding(id="one 0", statement="Few have it.", curator="Ask.")),
    )
    text = words_of(printed(view | {"worst": ["one 0", "many 0"]}))

    assert "To act on first: 2 of 2 findings" in text
    assert "1 Warning one 0 Few have it. To do: Ask." in text
    assert "2 Warning many 0 Many are concerned. To do: Look at them." in text
    assert "Their records: audit cases audit-run one 0" in text
    assert text.index("To do: Look at them.") < text.index("status check")
    assert text.count("To do") == 2


def test_findings_to_be_fixed_are_listed_with_who_fixes_them_until_when_and_why() -> None:
    promise = {"owner": "Ward\n7", "reason": "Ask.", "expires": "2031-01-01"}
    many = [finding(id=f"many:{i}", to_fix=promise) for i in range(TOP + 2)]
    text = words_of(printed(shared(check("many", "warn", *many, finding(id="many:none")))))

    assert f"{TOP + 2} findings to be fixed" in text
    assert f"Ward 7 is to fix this by 2031-01-01: Ask. many:{TOP - 1}" in text
    promised = text.partition("findings to be fixed")[2]
    assert f"many:{TOP}" not in promised
    assert "many:none" not in promised
    assert "and 2 more" in promised
    assert "to be fixed" not in printed(shared(check("many", "warn", finding())))


def test_a_check_with_more_findings_than_are_listed_says_how_many() -> None:
    some = shared(check("one", "warn", finding(), finding(), finding(), not_shown=2_341))

    assert "2,344 3" in words_of(printed(some))


HARMFUL = ["\x1b[31mred", "\x1b]8;;http://x\x07link", "a\nb\rc\td", "\u202eltr", "\x9b2J", "[red]"]


@pytest.mark.parametrize("title", HARMFUL)
def test_a_title_is_shown_and_not_obeyed(title: str) -> None:
    view = shared(check("one", "warn", finding(statement=f"Below {title}, all.")))
    text = printed(view)

    assert all(c == "\n" or c.isprintable() for c in text)
    assert "[red]" in text or title != "[red]"


@given(st.text())
def test_what_is_told_is_one_printable_line(text: str) -> None:
    line = one_line(text)

    assert line.isprintable()
    assert one_line(line) == line


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """But one that is copied, which is whole and stands by itself."""
    id_ = f"principal_position:{'%2C'.join(map(str, range(40)))}"
    view = shared(
        check("principal_position", "warn", finding(id=id_), denominator_unit="instances " * 20),
        *(check(f"check_number_{i}", "pass") for i in range(20)),
    )
    lines = printed(view | {"worst": [id_]}, width).splitlines()

    assert [line for line in lines if len(line) > width] == [id_, f"audit cases audit-run {id_}"]


def test_colour_is_for_terminals_alone() -> None:
    view = shared(check("one", "warn", finding()))

    assert "\x1b" not in printed(view)
    assert "\x1b[33m" in printed(view, force_terminal=True, color_system="standard")


# --- progress ---------------------------------------------------------------------------------


def live() -> Live:
    return Live(*progress_columns(), console=Console(file=io.StringIO(), width=120))


def shown(of: Live) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120).print(of.get_renderable())
    return stream.getvalue()


def test_a_step_shows_how_far_it_is_and_how_fast() -> None:
    clock = iter(range(1000))
    view = Live(*progress_columns(), get_time=lambda: float(next(clock)))
    progress = following(view)
    for done in range(0, 500, 100):
        progress("counting pairs", done, 1000, "nodes")

    assert "counting pairs" in shown(view)
    assert "400 of 1,000 nodes" in shown(view)
    assert "nodes/s" in shown(view)
    assert " left" in shown(view)


def test_a_step_without_a_known_end_shows_the_time_it_takes() -> None:
    view = live()
    following(view)("judging pairs")

    assert shown(view).split()[1:] == ["judging", "pairs", "0:00"]


def test_the_next_step_ends_the_one_before() -> None:
    view = live()
    progress = following(view)
    progress("reading labels")
    progress("reading labels", 9, 9, "rows")
    progress("judging pairs")
    progress("counting pairs", 3, 10, "nodes")
    progress("counting pairs", 4, 10, "nodes")
    progress("writing tables")

    assert [task.description for task in view.tasks] == [
        "reading labels", "judging pairs", "counting pairs", "writing tables",
    ]  # fmt: skip
    assert [task.finished for task in view.tasks] == [True, True, True, False]
    assert "9 rows" in shown(view)
    assert "4 nodes" in shown(view)


def test_rounded_counts_are_said_to_be_and_what_is_not_told() -> None:
    view = shared(check("a", "note", finding("note"), not_told=True), check("b", "pass"))
    text = words_of(printed(view | {"rounding": ROUNDING}))

    assert text.startswith("Counts are rounded: they are middles of bins of 10; <11 may be none.")
    assert f"{NOT_TOLD} They are of a." in text
