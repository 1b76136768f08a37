"""Editing of a policy's waivers as text: what is said changes by one waiver, and nothing else."""

from __future__ import annotations

import difflib
import tomllib
from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.policy.reading import text_with, text_without, toml_string
from audit.policy.statements import Waiver

FINDING = "a_check:a%2Fb"
PIECES = (
    'title = "Release # 3 [[waivers]]"',
    "title = '''\n[[waivers]]\n# no comment '''''",
    'title = """\n[[waivers]]\nfinding = \\"""" # told',
    "title = '''it's\n[[waivers]]\n'''",
    'title = """a "quote\n[[waivers]]\n\\\n"""',
    "[residual_share]\nvalue = 0.6  # agreed\nreason = 'So.'",
    "strata = [\n  'site', # [[waivers]]\n  ']',\n]",
    "# [[waivers]]\n# check = '*'",
    "[[ waivers ]] # ours\ncheck = '*' # all\nowner = 'A'\n\n# why\nreason = 'B'\n"
    "expires = 2030-01-01 # last",
    "[[waivers]]\nfinding = 'other:x'\ncheck = 'other'\nowner = 'A'\nreason = '''x\n\n[y]'''\n"
    "expires = 2030-01-01",
    '[["waivers"]]\ncheck = "cross_branch"\npair = [\n"a",\n"b"]\nowner = "A"\nreason = "B"\n'
    "expires = 2030-01-01",
    "[[exclusive]]\nnodes = [['a'], ['b']]\nreason = '[[waivers]]'",
    '[severities]\ncross_branch = "warning"',
    "",
    "   ",
)


@st.composite
def policies(draw: st.DrawFn) -> str:
    """TOML of a policy's kind, with strings and comments that look like tables."""
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=5))
    text = "\n".join(sorted(pieces, key=lambda piece: piece.lstrip().startswith("[")))
    text += draw(st.sampled_from(["", "\n", "\n\n", "\n# the end", "\n# the end\n"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    return text


ANY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1)


@st.composite
def waivers(draw: st.DrawFn, finding: str = FINDING) -> Waiver:
    return Waiver(
        check=finding.split(":")[0],
        finding=finding,
        decision=draw(st.sampled_from(["waived", "accepted", "to_fix"])),
        owner=draw(ANY_TEXT),
        reason=draw(ANY_TEXT),
        expires=draw(st.dates(date(2030, 1, 1))),
    )


def said_by(waiver: Waiver) -> dict[str, Any]:
    return {
        "check": waiver.check, "finding": waiver.finding, "decision": waiver.decision,
        "owner": waiver.owner, "reason": waiver.reason, "expires": waiver.expires,
    }  # fmt: skip


@given(policies(), waivers())
def test_a_file_says_what_it_said_and_the_waiver(text: str, waiver: Waiver) -> None:
    before, after = tomllib.loads(text), tomllib.loads(text_with(text, waiver))

    assert after.pop("waivers") == [*before.pop("waivers", []), said_by(waiver)]
    assert after == before


@given(policies(), waivers())
def test_a_waiver_that_is_taken_back_leaves_the_same_characters(text: str, waiver: Waiver) -> None:
    assert text_without(text_with(text, waiver), FINDING) == text


@given(policies(), waivers(), waivers(), waivers("b_check:c"))
def test_another_decision_stands_where_the_first_did(
    text: str, first: Waiver, second: Waiver, other: Waiver
) -> None:
    both = text_with(text_with(text, first), other)
    changed = text_with(both, second)

    assert changed == text_with(text_with(text, second), other)
    assert text_without(changed, FINDING) == text_with(text, other)
    assert text_without(changed, "b_check:c") == text_with(text, second)


@given(policies(), waivers())
def test_no_line_of_the_file_changes_but_for_the_added_ones(text: str, waiver: Waiver) -> None:
    edited = text_with(text, waiver)
    blocks = difflib.SequenceMatcher(None, text, edited, autojunk=False).get_matching_blocks()

    assert edited.startswith(text)
    assert sum(block.size for block in blocks) == len(text)


@given(policies(), waivers())
def test_lines_end_as_the_file_s_own(text: str, waiver: Waiver) -> None:
    lines = text_with(text, waiver).split("\n")
    marked = {line.endswith("\r") for line in lines[:-1]}

    assert marked <= {"\r\n" in text}


def test_comments_around_a_table_stay_when_it_goes() -> None:
    text = (
        "# head\n\n# of the first\n[[waivers]]\nfinding = 'a_check:a'\ncheck = 'a_check'\n"
        "owner = 'A'\nreason = 'B'\nexpires = 2030-01-01 # day\n# behind\n[severities]\n"
    )
    assert text_without(text, "a_check:a") == "# head\n\n# of the first\n# behind\n[severities]\n"


@given(ANY_TEXT)
def test_any_text_is_read_as_it_was_and_stands_on_one_printable_line(text: str) -> None:
    written = toml_string(text)

    assert written.isprintable()
    assert tomllib.loads(f"a = {written}") == {"a": text}


@pytest.mark.parametrize(
    "text",
    [
        "waivers = []",
        "waivers = [{check='*', owner='A', reason='B', expires=2030-01-01}]",
        "waivers = [{check='a_check', finding='a_check:a%2Fb', owner='A', reason='B', "
        "expires=2030-01-01}]",
    ],
)
def test_waivers_that_are_no_tables_are_left_to_the_user(text: str) -> None:
    waiver = Waiver(
        check="a_check", finding=FINDING, owner="A", reason="B", expires=date(2030, 1, 1)
    )
    with pytest.raises(InputError, match=r"must be tables \[\[waivers\]\]"):
        text_with(text, waiver)
