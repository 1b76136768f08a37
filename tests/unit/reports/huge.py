"""A shared view with more of everything than sixty pages hold."""

from __future__ import annotations

import copy
from typing import Any

from fixtures import results

LONG = "of a condition in its later course, with and without " * 6


def huge_view(findings: int = 20, text: str = LONG[:300]) -> dict[str, Any]:
    """24 checks with as many findings each, long titles, 500 waivers and 200 branches."""
    shared = copy.deepcopy(results.big_result(checks=24, findings=findings, parts=10).shared())
    for check in shared["checks"]:
        for rank, finding in enumerate(check["findings"]):
            finding["id"] = f"{check['name']}:{rank:04}"
            finding["statement"] = f"{check['name']} {rank:04} {text}: {finding['statement']}"
            for node in finding["nodes"]:
                node["title"] = text
    shared["policy"]["branch_rules"] = [
        {"a": f"A{a:03}", "b": "*", "rule": "watch", "reason": text} for a in range(200)
    ]
    shared["policy"]["exclusive"] = [
        {
            "nodes": [[f"A{a:03}"], [f"B{b:03}" for b in range(100)]],
            "severity": "note",
            "reason": text,
        }
        for a in range(50)
    ]
    shared["overview"]["coverage"]["branches"] = [
        {"node": f"A{a:03}", "title": text, "assignable": 40, "in_use": 20} for a in range(200)
    ]
    shared["waivers"] = [
        {
            "check": "cross_branch",
            "pair": [f"A{place:03}", f"B{place:03}"],
            "decision": "waived",
            "owner": "Coding office",
            "reason": text,
            "expires": "2031-01-01",
            "expired": False,
            "used": 1,
        }
        for place in range(500)
    ]
    return shared
