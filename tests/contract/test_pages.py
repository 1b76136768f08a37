"""What declarations make on the pages of docs/: every option, layout, metric, key and table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from audit import Policy
from fixtures.registered import (
    ALL_CHECKS,
    COMMANDS,
    LAYOUTS,
    METRICS,
    Argument,
    options_of,
    policy_schema,
)

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import declared  # noqa: E402

PAGES = {path.stem: path.read_text("utf-8") for path in DOCS.glob("*.md")}


def test_every_mark_is_made() -> None:
    marked = {name for name, page in PAGES.items() if declared.MARK.search(page)}
    assert marked == {"architecture", "checks", "cli", "formats", "metrics", "policy", "tables"}
    for name in marked:
        assert "<!-- made" not in declared.with_tables(PAGES[name])


def slugs(page: str) -> set[str]:
    """The ends of addresses of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_links_lead_to_pages_and_to_their_headings() -> None:
    beside = [DOCS.parent / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")]
    paths = [*DOCS.rglob("*.md"), *beside, DOCS.parent / "SECURITY.md"]
    pages = {path.resolve(): declared.with_tables(path.read_text("utf-8")) for path in paths}
    for path, text in pages.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for target, place in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", prose):
            to = (path.parent / target).resolve() if target else path
            assert to.exists() or to.name.endswith(".schema.json"), (path.name, target)
            assert not place or place in slugs(pages[to]), (path.name, target, place)


def test_every_check_has_its_place_on_a_page_of_the_site() -> None:
    page = declared.with_tables(PAGES["checks"])
    assert {*re.findall(r"^### (\w+)$", page, re.M)} == {check.name for check in ALL_CHECKS}


def test_pages_that_the_product_names_are_there() -> None:
    files = [path for room in ("audit", "reports") for path in (DOCS.parent / room).rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in files)
    named = {*re.findall(r"\bdocs/[\w/]+\.md\b", text)}
    assert "docs/policy.md" in named
    assert [name for name in sorted(named) if not (DOCS.parent / name).exists()] == []


def test_a_mark_that_nothing_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        declared.with_tables("<!-- made: everything -->")


@pytest.mark.parametrize("command", [name for name, *_ in COMMANDS])
def test_the_page_of_commands_has_every_option(command: str) -> None:
    assert f"<!-- made: command {command} -->" in PAGES["cli"]
    function = next(one for name, one, *_ in COMMANDS if name == command)
    heads = re.findall(
        r"^(?:\| (.+?) \||As for `audit run`: (.+))", declared.options(command), re.M
    )
    named = {*re.findall(r"`(--?[\w-]+)`", str(heads))}
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
