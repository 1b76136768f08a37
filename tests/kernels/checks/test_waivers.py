"""A waiver on a node covers findings that name it, alone or with another, and none of a rule."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from audit.checks.waivers import Waivers
from audit.policy.statements import Waiver
from audit.results.findings import Finding, Part

EDGES = pl.DataFrame({"child": ["a", "b", "c"], "parent": ["top", "top", "a"]})


def finding(nodes: str, key: tuple[str, ...] = (), parts: str = "") -> Finding:
    lines = tuple(Part((node,), {"instances": 1}) for node in parts.split())
    return Finding("made_up", "note", (*nodes.split(),), "", {}, "", "", key=key, parts=lines)


@pytest.mark.parametrize(
    ("found", "on_node", "below"),
    [
        (finding("a"), True, True),
        (finding("b"), False, False),
        (finding("a b", ("site", "0", "a")), True, False),
        (finding("a c", ("site", "0", "a")), True, True),
        (finding("a", ("labels",), "a c"), False, False),
        (finding("top", ("refused",)), False, False),
        (finding("a", ("a", "site"), "a c"), True, True),
    ],
)
def test_what_a_waiver_covers(found: Finding, on_node: bool, below: bool) -> None:
    day = date(2026, 1, 1)
    said = {"check": "*", "owner": "Office", "reason": "Known.", "expires": day}
    placed = (Waiver(node="a", **said), Waiver(subtree="a", **said))  # type: ignore[arg-type]

    assert [Waivers((one,), day, EDGES).of(found) is not None for one in placed] == [on_node, below]
