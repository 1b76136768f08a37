"""The report's tables, each made from a part of the shared view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.base.plurals import counted
from reports.words.parts import Badge, Cell, Code, Linked, Named, Table, column
from reports.words.words import (
    BRANCH_RULE,
    DECISION,
    REFUSED,
    SEVERITY,
    STATUS,
    TONE,
    number,
    percent,
    typical,
    words,
)

DIGEST = 16
"""Number of characters of a sha256 shown if the full value is shown elsewhere."""

NODES_NAMED = 4
"""Largest number of nodes of a side of a rule that are all named."""

Row = tuple[Cell, ...]


def checks_table(checks: Sequence[Mapping[str, Any]]) -> Table:
    """Checks that could be applied, with what each looked at and found, in the given order."""
    applied = [check for check in checks if check["status"] != "not_applicable"]
    return Table(
        id="check-table",
        caption="What each check found",
        columns=column("Check", "Result", "Findings", "Looked at", numeric="  n"),
        rows=tuple(_check_row(check) for check in applied),
    )


def not_applicable_table(checks: Sequence[Mapping[str, Any]]) -> Table | None:
    """Checks that could not be applied, each with its reason; None if all could."""
    rows = [
        (Named(check["title"], check["name"]), check["reason"] or "")
        for check in checks
        if check["status"] == "not_applicable"
    ]
    if not rows:
        return None
    return Table(
        id="not-applicable-table",
        caption=f"{counted(len(rows), 'checks')} not applicable",
        columns=column("Check", "Why"),
        rows=tuple(rows),
    )


def ledger_table(ledger: Mapping[str, Any]) -> Table:
    """Rows mapped and refused, which sum to the rows read."""
    read = ledger["rows_read"]
    refused = sorted(ledger["refused"].items(), key=lambda item: (-item[1], item[0]))
    return Table(
        id="ledger-table",
        caption="Where every row read went",
        columns=column("Rows", "Number", "Share of rows read", numeric=" nn"),
        rows=(
            ("Mapped to a node", *_of(ledger["rows_mapped"], read)),
            *(
                (Named(f"Refused: {words(reason, REFUSED)}", reason), *_of(rows, read))
                for reason, rows in refused
            ),
        ),
        total=("Read", *_of(ledger["rows_mapped"] + sum(ledger["refused"].values()), read)),
    )


def ledger_facts(ledger: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Facts on the release other than its rows."""
    labels = ledger["labels_per_instance"]
    groups = ledger["groups"]
    without, instances = ledger["instances_without_labels"], ledger["instances"]
    return (
        ("Instances", number(instances)),
        ("Instances without labels", f"{number(without)} of {number(instances)}"),
        ("Groups", "not given" if groups is None else number(groups)),
        ("Labels per instance, median", typical(labels["median"])),
        ("Labels per instance, 90th percentile", typical(labels["p90"])),
        ("Repeated edges of the hierarchy, counted once", number(ledger["repeated_edges"])),
        *dropped_facts(ledger),
    )


def dropped_facts(ledger: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Facts on edges that the hierarchy was built without; empty where none was dropped."""
    dropped = ledger.get("dropped_edges")
    if dropped is None:
        return ()
    return (
        ("Dangling edges of the hierarchy, dropped", number(dropped["edges"])),
        ("Nodes that lost all parents by that, tops now", number(dropped["tops"])),
    )


def waivers_table(waivers: Sequence[Mapping[str, Any]]) -> Table | None:
    """All waivers in full; None without any."""
    if not waivers:
        return None
    waivers = [{**waiver, **_decided(waiver)} for waiver in waivers]
    names = list(dict.fromkeys(name for waiver in waivers for name in waiver))
    return Table(
        id="waiver-table",
        caption="Waivers",
        columns=column(*(_sentence(words(name, {"used": "findings covered"})) for name in names)),
        rows=tuple(tuple(_any(waiver.get(name)) for name in names) for waiver in waivers),
    )


def _decided(waiver: Mapping[str, Any]) -> dict[str, str]:
    decision = waiver.get("decision")
    return {"decision": DECISION[decision]} if decision else {}


def thresholds_table(policy: Mapping[str, Any]) -> Table:
    """All thresholds with unit and reason."""
    return Table(
        id="threshold-table",
        caption="Thresholds",
        columns=column("Threshold", "Value", "Unit", "Reason", numeric=" n"),
        rows=tuple(
            (
                Named(_sentence(words(threshold["name"], {})), threshold["name"]),
                number(threshold["value"]),
                threshold["unit"],
                threshold["reason"],
            )
            for threshold in policy["thresholds"]
        ),
    )


def rules_table(policy: Mapping[str, Any]) -> Table | None:
    """Rules on pairs of branches; None if the policy has none."""
    if not policy["branch_rules"]:
        return None
    return Table(
        id="rule-table",
        caption="Branch rules, the first that fits decides",
        columns=column("Branch", "With", "Rule", "Reason"),
        rows=tuple(
            (
                _branch(rule["a"]),
                _branch(rule["b"]),
                words(rule["rule"], BRANCH_RULE),
                rule["reason"],
            )
            for rule in policy["branch_rules"]
        ),
    )


def exclusive_table(policy: Mapping[str, Any]) -> Table | None:
    """Groups of mutually exclusive nodes; None if the policy declares none."""
    if not policy["exclusive"]:
        return None
    return Table(
        id="exclusive-table",
        caption="Nodes of which an instance should carry one at most",
        columns=column("Sides", "Severity", "Reason"),
        rows=tuple(
            (
                " | ".join(", ".join(side) for side in group["nodes"]),
                SEVERITY[group["severity"]],
                group["reason"],
            )
            for group in policy["exclusive"]
        ),
    )


def expected_table(policy: Mapping[str, Any]) -> Table | None:
    """Associations that the policy expects; None if it names none."""
    if not policy["expected"]:
        return None
    return Table(
        id="expected-table",
        caption="Associations that are known, and not reported",
        columns=column("Node", "With", "Known from", "Pairs taken out", numeric="   n"),
        rows=tuple(
            (*map(Code, known["nodes"]), known["source"], number(known["pairs"]))
            for known in policy["expected"]
        ),
    )


def companions_table(policy: Mapping[str, Any]) -> Table | None:
    """Companion rules; None if the policy has none."""
    if not policy["companions"]:
        return None
    return Table(
        id="companion-table",
        caption="Nodes that need another node on the same instance",
        columns=column(
            "Nodes", "Need", "Unless", "Holds", "Rule", "Severity", "Pairs taken out",
            numeric="      n",
        ),
        rows=tuple(
            (
                *(_some(rule[key]) for key in ("if", "needs", "unless")),
                _span(rule["valid_from"], rule["valid_to"]),
                rule["source"],
                SEVERITY[rule["severity"]],
                number(rule["pairs"]),
            )
            for rule in policy["companions"]
        ),
    )  # fmt: skip


def person_rules_table(policy: Mapping[str, Any]) -> Table | None:
    """Rules on sex and age; None without rules, or if the policy names no column of sex or age."""
    rules = policy.get("person_rules")
    if not rules or not policy.get("person"):
        return None
    return Table(
        id="person-rule-table",
        caption="Nodes that belong to persons of one sex, or of some ages",
        columns=column("Nodes", "Person", "Rule", "Severity"),
        rows=tuple(
            (_some(rule["nodes"]), _whom(rule), rule["source"], SEVERITY[rule["severity"]])
            for rule in rules
        ),
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
    if not policy["severities"]:
        return None
    return Table(
        id="severity-table",
        caption="Severities that the policy sets",
        columns=column("Check", "Severity"),
        rows=tuple((Code(name), SEVERITY[said]) for name, said in policy["severities"].items()),
    )


def digests(identity: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The sha256 digests in the identity; that of the data is keyed."""
    data = identity["data"]["hmac_sha256"]
    keyed = (("Data, keyed", data),) if data else ()
    plain = (
        (_sentence(part), facts["sha256"])
        for part, facts in identity.items()
        if isinstance(facts, Mapping) and "sha256" in facts
    )
    return (*keyed, *plain)


def provenance_table(identity: Mapping[str, Any], result_sha256: str) -> Table:
    """Inputs and software of the run, with full digests."""
    tool = identity["tool"]
    rows: list[Row] = [(name, Code(digest)) for name, digest in digests(identity)]
    if identity["normaliser"]:
        rows.append(("Normaliser", Code(identity["normaliser"])))
    rows.append(("Tool", Code(f"{tool['name']} {tool['version']}")))
    rows.append(("result.json", Code(result_sha256)))
    return Table(
        id="provenance-table",
        caption="sha256 of what went in and came out",
        columns=column("Part", "Digest or version"),
        rows=tuple(rows),
    )


def short(digest: str) -> Code:
    """A digest, shortened for reading."""
    return Code(digest, f"{digest[:DIGEST]}…" if len(digest) > DIGEST else digest)


def _check_row(check: Mapping[str, Any]) -> Row:
    """A check; it leads to its findings where it shows some."""
    title, shows = check["title"], bool(check["findings"])
    return (
        Linked(title, f"check-{check['name']}") if shows else title,
        Badge(STATUS[check["status"]], TONE.get(check["status"], "plain")),
        number(check["total"] - check["folded"]),
        check["reason"] or counted(check["denominator"], check["denominator_unit"]),
    )


def _of(rows: int, read: int) -> tuple[str, str]:
    return number(rows), percent(rows / read) if read else "–"


def _branch(id_: str) -> Cell:
    return "any other branch" if id_ == "*" else Code(id_)


def _any(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{words(name)} {_any(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_any(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else number(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
