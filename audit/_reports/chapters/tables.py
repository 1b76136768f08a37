"""The report's tables, each made from a part of the shared view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.words.parts import Cell, Code, Facts, Linked, Named, Table
from audit._reports.words.table_specs import (
    badges,
    named,
    numbers,
    optional_table,
    table,
    texts,
    written,
)
from audit._reports.words.words import (
    BRANCH_RULE,
    DECISION,
    REFUSED,
    SEVERITY,
    STATUS,
    capitalised,
    number,
    percent,
    words,
)
from audit.base.plurals import counted
from audit.results.printed import looked_at, share_of

DIGEST = 16
"""Number of characters of a sha256 shown if the full value is shown elsewhere."""

NODES_NAMED = 4
"""Largest number of nodes of a side of a rule that are all named."""


def checks_table(checks: Sequence[Mapping[str, Any]]) -> Table:
    """Checks that could be applied, with what each looked at and found, in the given order."""
    return table(
        "check-table",
        "What each check found",
        [check for check in checks if check["status"] != "not_applicable"],
        texts("Check", _linked),
        badges("Result", "status", STATUS),
        numbers("Findings", lambda check: check["total"] - check["folded"]),
        texts("Looked at", looked_at),
    )


def not_applicable_table(checks: Sequence[Mapping[str, Any]]) -> Table | None:
    """Checks that could not be applied, each with its reason; None if all could."""
    rows = [check for check in checks if check["status"] == "not_applicable"]
    return optional_table(
        "not-applicable-table",
        f"{counted(len(rows), 'checks')} not applicable",
        rows,
        named("Check", "title", "name"),
        texts("Why", lambda check: check["reason"] or ""),
    )


def ledger_table(ledger: Mapping[str, Any]) -> Table:
    """Rows mapped and refused, of the rows read."""
    read, mapped = ledger["rows_read"], ledger["rows_mapped"]
    refused = sorted(ledger["refused"].items(), key=lambda item: (-(item[1] or 0), item[0]))
    named_rows = [
        (Named(f"Refused: {words(reason, REFUSED)}", reason), rows) for reason, rows in refused
    ]
    return table(
        "ledger-table",
        "Where every row read went",
        [("Mapped to a node", mapped), *named_rows],
        texts("Rows", 0),
        numbers("Number", 1),
        numbers("Share of rows read", lambda row: share_of(row[1], read), percent),
        total=("Read", read),
    )


def readings_table(readings: Sequence[Mapping[str, Any]]) -> Table | None:
    """What the data were taken to mean, and what decides otherwise; None where they say it."""
    return optional_table(
        "readings-table",
        "Read as",
        readings,
        texts("Decision", lambda reading: capitalised(reading["decision"])),
        texts("Since", "evidence"),
        written("Rows", lambda reading: counted(reading["rows"], reading["unit"])),
        texts("Otherwise", "option"),
    )


def ledger_facts(ledger: Mapping[str, Any]) -> Facts:
    """Facts on the release other than its rows, and than those that its chapter begins with."""
    without, repeated = ledger["instances_without_labels"], ledger["repeated_edges"]
    edges = (("Repeated edges of the hierarchy, counted once", number(repeated)),)
    return (
        ("Instances without labels", f"{number(without)} of {number(ledger['instances'])}"),
        *(edges if repeated else ()),
    )


def waivers_table(waivers: Sequence[Mapping[str, Any]]) -> Table | None:
    """All waivers in full; None without any."""
    waivers = [{**waiver, "decision": DECISION[waiver["decision"]]} for waiver in waivers]
    names = list(dict.fromkeys(name for waiver in waivers for name in waiver))
    return optional_table(
        "waiver-table",
        "Waivers",
        [{name: _any(waiver.get(name)) for name in names} for waiver in waivers],
        *(texts(capitalised(words(name, {"used": "findings covered"})), name) for name in names),
    )


def thresholds_table(policy: Mapping[str, Any]) -> Table:
    """All thresholds with unit and reason."""
    return table(
        "threshold-table",
        "Thresholds",
        policy["thresholds"],
        texts("Threshold", lambda one: Named(capitalised(words(one["name"], {})), one["name"])),
        texts("Value", lambda one: f"{number(one['value'])} {one['unit']}".strip()),
        texts("Reason", "reason"),
    )


def rules_table(policy: Mapping[str, Any]) -> Table | None:
    """Rules on pairs of branches; None if the policy has none."""
    return optional_table(
        "rule-table",
        "Rules on branches: the first that fits decides",
        policy["branch_rules"],
        texts("Branch", lambda rule: _branch(rule["a"])),
        texts("With", lambda rule: _branch(rule["b"])),
        texts("Rule", "rule", BRANCH_RULE),
        texts("Reason", "reason"),
    )


def exclusive_table(policy: Mapping[str, Any]) -> Table | None:
    """Groups of mutually exclusive nodes; None if the policy declares none."""
    return optional_table(
        "exclusive-table",
        "Nodes of which an instance should carry one at most",
        policy["exclusive"],
        texts("Sides", lambda group: " | ".join(", ".join(side) for side in group["nodes"])),
        texts("Severity", "severity", SEVERITY),
        texts("Reason", "reason"),
    )


def expected_table(policy: Mapping[str, Any]) -> Table | None:
    """Associations that the policy expects and that took out a pair; None if there is none."""
    known = [one for one in policy["expected"] if one["pairs"]]
    return optional_table(
        "expected-table",
        f"Known associations, which are not reported: {len(known)} of {len(policy['expected'])} "
        "occur in the data",
        known,
        texts("Node", lambda known: Code(known["nodes"][0])),
        texts("With", lambda known: Code(known["nodes"][1])),
        texts("Known from", "source"),
        numbers("Pairs taken out", "pairs"),
    )


def companions_table(policy: Mapping[str, Any]) -> Table | None:
    """Companion rules; None if the policy has none."""
    return optional_table(
        "companion-table",
        "Nodes that need another node on the same instance",
        policy["companions"],
        texts("Nodes", lambda rule: _some(rule["if"])),
        texts("Need", lambda rule: _some(rule["needs"])),
        texts("Unless", lambda rule: _some(rule["unless"])),
        texts("Holds", lambda rule: _span(rule["valid_from"], rule["valid_to"])),
        texts("Rule", "source"),
        texts("Severity", "severity", SEVERITY),
        numbers("Pairs taken out", "pairs"),
    )


def person_rules_table(policy: Mapping[str, Any]) -> Table | None:
    """Rules on sex and age; None without rules, or if the policy names no column of sex or age."""
    return optional_table(
        "person-rule-table",
        "Nodes that belong to persons of one sex, or of some ages",
        (policy.get("person_rules") or ()) if policy.get("person") else (),
        texts("Nodes", lambda rule: _some(rule["nodes"])),
        texts("Person", _whom),
        texts("Rule", "source"),
        texts("Severity", "severity", SEVERITY),
    )


def _whom(rule: Mapping[str, Any]) -> str:
    ages = (("from", rule["age_from"]), ("to", rule["age_to"]))
    limits = " ".join(f"{word} {age}" for word, age in ages if age is not None)
    return str(rule["sex"] or f"aged {limits} years")


def _some(nodes: Sequence[str]) -> str:
    """The first of some nodes, and how many others there are."""
    if len(nodes) <= NODES_NAMED:
        return ", ".join(nodes)
    return f"{', '.join(nodes[: NODES_NAMED - 1])} and {len(nodes) - NODES_NAMED + 1} others"


def _span(first: str | None, last: str | None) -> str:
    days = (("from", first), ("to", last))
    return " ".join(f"{word} {day}" for word, day in days if day) or "always"


def severities_table(policy: Mapping[str, Any]) -> Table | None:
    """Severities that the policy overrides; None if it overrides none."""
    return optional_table(
        "severity-table",
        "Severities that the policy sets",
        list(policy["severities"].items()),
        texts("Check", lambda said: Code(said[0])),
        texts("Severity", 1, SEVERITY),
    )


def digests(identity: Mapping[str, Any]) -> Facts:
    """The sha256 digests in the identity."""
    return tuple(
        (capitalised(part), facts["sha256"])
        for part, facts in identity.items()
        if isinstance(facts, Mapping) and "sha256" in facts
    )


def provenance_table(identity: Mapping[str, Any], result_sha256: str) -> Table:
    """Inputs and software of the run, with full digests; a page of exact numbers has no last."""
    tool = identity["tool"]
    rows = [(name, Code(digest)) for name, digest in digests(identity)]
    if identity["normaliser"]:
        rows.append(("Normaliser", Code(identity["normaliser"])))
    rows.append(("Tool", Code(f"{tool['name']} {tool['version']}")))
    if result_sha256:
        rows.append(("result.json", Code(result_sha256)))
    return table(
        "provenance-table",
        "sha256 of what went in and came out",
        rows,
        texts("Part", 0),
        texts("Digest or version", 1),
    )


def short(digest: str) -> Code:
    """A digest, shortened for reading."""
    return Code(digest, f"{digest[:DIGEST]}…" if len(digest) > DIGEST else digest)


def _linked(check: Mapping[str, Any]) -> Cell:
    """The title of a check; it leads to its findings where it shows some."""
    return Linked(check["title"], f"check-{check['name']}") if check["findings"] else check["title"]


def _branch(id_: str) -> Cell:
    return "any other branch" if id_ == "*" else Code(id_)


def _any(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{words(name)} {_any(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_any(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value)
