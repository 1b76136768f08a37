"""Every link of every page leads somewhere, whatever a run holds."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.explored import Visitor, entered
from fixtures.sample_runs import run_command
from fixtures.task_counts import counted_by_tasks
from fixtures.tuple_files import SAMPLE, VOTES

MOST = 120
"""Pages asked for at most."""


@pytest.mark.slow
def test_every_link_of_a_run_that_was_only_counted_leads_to_a_page(
    toy_hierarchy: audit.Hierarchy, tmp_path: Path
) -> None:
    rows = pl.DataFrame({"instance": [*"aabbc"], "label": ["dog", "cow", "dog", "cow", "bird"]})
    counted = audit.run_audit(counted_by_tasks(rows, toy_hierarchy))
    audit.write_run(counted, tmp_path / "run")
    with entered(tmp_path / "run") as visitor:
        follow_all(visitor)


@pytest.mark.slow
def test_every_link_of_a_run_of_tuples_leads_to_a_page(tmp_path: Path) -> None:
    made = (*VOTES, "--no-pdf", "--out", tmp_path / "run")
    run_command("entailment", SAMPLE / "tuples.csv", *made)
    with entered(tmp_path / "run") as visitor:
        follow_all(visitor)


@pytest.mark.slow
def test_every_link_of_a_run_with_instances_leads_to_a_page(visitor: Visitor) -> None:
    follow_all(visitor)


def follow_all(visitor: Visitor) -> None:
    """Follow the links of each page, the first of each kind of place first."""
    seen: set[str] = set()
    waiting = ["/", "/tables", "/table/findings"]
    while waiting and len(seen) < MOST:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.add(address)
        answer = visitor.ask("GET", address)
        assert answer.status in (200, 303), (address, answer.text[-600:])
        links = [unescape(found) for found in re.findall(r'href="(/[^"]*)"', answer.text)]
        waiting += [link.split("#")[0] for link in links]
    assert len(seen) > 3
