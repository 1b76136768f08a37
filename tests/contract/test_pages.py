"""What declarations make on the pages of docs/: every option, layout, metric, key and table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from audit.base.settings import Argument
from audit.cli.app import COMMANDS
from audit.cli.declared import options_of
from audit.data.layouts import LAYOUTS
from audit.policy.policy import Policy
from audit.policy.reading import policy_schema
from audit.results.metric_list import METRICS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import declared  # noqa: E402

PAGES = {path.stem: path.read_text("utf-8") for path in DOCS.glob("*.md")}


def test_every_mark_is_made() -> None:
    marked = {name for name, page in PAGES.items() if declared.MARK.search(page)}
    assert marked == {"architecture", "checks", "cli", "formats", "metrics", "policy", "tables"}
    for name in marked:
        assert "<!-- made" not in declared.with_tables(PAGES[name])


def test_a_mark_that_nothing_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        declared.with_tables("<!-- made: everything -->")


@pytest.mark.parametrize("command", [name for name, *_ in COMMANDS if name != "list"])
def test_the_page_of_commands_has_every_option(command: str) -> None:
    assert f"## audit {command}\n" in PAGES["cli"]
    assert f"<!-- made: options {command} -->" in PAGES["cli"]
    function = next(one for name, one, *_ in COMMANDS if name == command)
    named = set(re.findall(r"`(--?[\w-]+)`", declared.options(command)))
    asked = [one for one in options_of(function) if not isinstance(one.option, Argument)]
    assert named == {flag for one in asked for flag in one.flags}


def test_the_others_have_a_row_each() -> None:
    def first_cells(table: str) -> list[str]:
        return re.findall(r"^\| `(\w+)`", table, re.M)

    assert first_cells(declared.metric_list()) == [metric.name for metric in METRICS]
    assert first_cells(declared.policy_keys()) == list(Policy.model_fields)
    first = {layout.name: layout.title for layout in reversed(LAYOUTS)}
    names = [title.partition(": ")[0] for title in reversed(first.values())]
    assert re.findall(r"^\| \[(.+?)\]", declared.layouts(), re.M) == names


def test_the_schema_of_a_policy_is_one() -> None:
    Draft202012Validator.check_schema(policy_schema())
