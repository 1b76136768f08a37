"""Outcomes of commands, drawn with any text."""

from __future__ import annotations

from hypothesis import strategies as st

from audit.cli.outcomes import Case, Outcome, Statement
from audit.results.findings import SEVERITIES

NASTY = (
    "::error::x",
    "##[command]x",
    "a\r\n::stop-commands::t",
    "50%, a: b",
    "%0A%25 of 100%0D",
    "<b>|`*_[x](y)",
    "\x00",
)
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=30))
told = st.builds(Statement, st.sampled_from(SEVERITIES), texts)


def _case(place: int, title: str, state: str, sentences: list[Statement], unsaid: int) -> Case:
    needed = sentences or [Statement("error", "why")] if state != "passed" else sentences
    ranked = sorted(needed, key=lambda one: SEVERITIES.index(one.severity))
    return Case(f"check_{place}", title, state, tuple(ranked), unsaid)  # type: ignore[arg-type]


cases = st.builds(
    _case,
    st.integers(0, 9),
    texts,
    st.sampled_from(("passed", "failed", "crashed", "skipped")),
    st.lists(told, max_size=14),
    st.integers(0, 3),
)
outcomes = st.builds(
    Outcome,
    st.just("run"),
    texts,
    texts,
    texts,
    st.lists(cases, max_size=5).map(tuple),
    st.dictionaries(st.sampled_from(("policy.name", "tool")), texts),
)
