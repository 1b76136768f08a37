"""The pages of the window: verdict, finding, node, pair, record, search, and every table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeAlias

import polars as pl
from starlette.responses import RedirectResponse, Response, StreamingResponse

from audit.base.declared import Columns, text
from audit.base.plurals import counted, title_and_code
from audit.engine.statistics.intervals import wilson
from audit.explorer import records
from audit.explorer.opened import MODEL_PAIR, PAIRS, OpenedRun, nodes_named
from audit.explorer.rows import Stored
from audit.explorer.sheets import Sheet, address, few, refuse_unknown, sheet
from audit.explorer.site import Parameters, page
from audit.explorer.tables import NotThereError, Shown, index_of, shown_columns
from audit.hierarchies.relations import relate_two
from audit.results.columns import MODEL_PAIRS
from audit.results.findings import OF_MODEL, OF_WAIVERS, promise
from reports.cells import cell
from reports.core import digests, level, model_lines
from reports.findings import check_columns, first_sentence, ten, verdict
from reports.words import METRICS, Imprint, Row, name, number, percent, printable

View: TypeAlias = "Callable[[OpenedRun, Parameters], Response]"
OF_PAIR = (
    "joint support_a support_b joint_entailed groups effective observed expected_length ratio"
    " explained shrunk_ratio expected lift confusion q_value"
)
PARTNERS = "other relation joint expected_length ratio lift support strength"
EXCHANGED, OF_EXCHANGED = ("exchanged_pairs", "exchanged_in_line"), "a b relation counted expected"
CONFUSED = "Most confused with it at its depth (equation 4)"
WHOSE = ("Labelled", "Predicted")
RELATED = {
    "ancestor": "are one above the other",
    "sibling": "share a parent",
    "overlap": "share a node below both",
    "same_branch": "are in the same branch",
    "cross_branch": "are in different branches",
}
SIDES = ("The first is higher", "The second is higher", "Tied", "Left out")
"""What is counted of two subgraphs, in the order of `records.Records.sides`."""


def show_verdict(run: OpenedRun, _: Parameters) -> Response:
    """The verdict, the findings to act on first, and what each check found."""
    view: Any = printable(run.view)
    tool, ledger, identity = view["identity"]["tool"], view["ledger"], view["identity"]
    facts = {
        "Instances": number(ledger["instances"]),
        "Labels per instance, mean": number(ledger["labels_per_instance"]["mean"]),
        "Rows read": number(ledger["rows_read"]),
        "Hierarchy": identity["hierarchy"]["name"],
        "Nodes": number(identity["hierarchy"]["nodes"]),
        "Policy": identity["policy"]["name"],
    }
    every = [(one["what"], one["value"]) for one in digests(identity)]
    checks = run.tables["checks"]
    rows = pl.concat(checks.rows.batches(checks.query({}, run.hierarchy)))
    imprint = Imprint(title=run.name, day=run.day, exact=True)
    return page(
        run,
        "verdict",
        run.name,
        stated=imprint.stated(f"{tool['name']} {tool['version']}", None),
        verdict=verdict(view),
        lines=model_lines(view),
        ten=ten(view),
        facts=facts,
        checks=sheet(run, checks, "/", {}, most=len(rows), page=(rows, len(rows))),
        digests=[*every, ("result.json", sha256(run.shared).hexdigest())],
    )


def show_tables(run: OpenedRun, _: Parameters) -> Response:
    """Every table of the run, and the questions that are asked of them most."""
    depths = [(one, one) for one in sorted(set(run.result.nodes["depth"]))]
    every = [(one, one.rows.page(one.query({}, run.hierarchy))[1]) for one in run.tables.values()]
    return page(
        run,
        "tables",
        "Tables",
        tables=[(one, rows) for one, rows in every if rows],
        empty=[one.heading for one, rows in every if not rows],
        depths=depths,
    )


def show_table(run: OpenedRun, asked: Parameters, named: str) -> Response:
    """One table, filtered and in order, by pages or as CSV."""
    if named not in run.tables:
        raise NotThereError(f"This run has no table {named}.")
    table, lead = run.tables[named], list[str]()
    if named == "findings":
        table = run.finding_table(asked.get("check", ""))
    elif named in PAIRS and asked.get("node"):
        table = partners(run, named, asked["node"])
        lead = [f"Pairs with {title_and_code(asked['node'], run.title(asked['node']))}."]
    fixed = ("node",) if named in PAIRS else ()
    return _table_page(run, table, f"/table/{named}", asked, fixed, lead=lead)


def partners(run: OpenedRun, named: str, node: str) -> Shown:
    """The rows with a node of a table of pairs, seen from it; NotThereError for no node."""
    rows = run.pairs[named].partners(index_of(node, run.hierarchy))
    shown = shown_columns(rows.drop("a", "b").schema, _PARTNERS)
    title = "Labels beside it" if named == "pairs" else "Predictions beside it"
    found = Shown(named, shown, Stored(rows.lazy()), title, "a partner")
    return found if named == "pairs" else found.only(f"other {MODEL_PAIR} support strength lca")


_PARTNERS = Columns(
    (replace(text("other", "Together with")[0], title="title"),), text("title"),
    (one for one in MODEL_PAIRS.values() if one.name != "other"),
)  # fmt: skip


def show_records(run: OpenedRun, asked: Parameters) -> Response:
    """The records by their labels, answers and outcomes, and what they prefer."""
    own = records_of(run)
    lead, counts = list[tuple[str, str]](), own.sides(asked)
    if counts is not None:
        pair = {one: asked[one] for one in ("first", "second")}
        lead = [
            (f"{words}: {counted(n, 'records')}", address("/records", **pair, side=side))
            for words, n, side in zip(SIDES, counts, (*records.SIDES, ""), strict=True)
        ]
        if n := sum(counts[:3]):
            low, high = wilson(counts[0], n)
            share, *ends = (percent(float(one), None, None) for one in (counts[0] / n, low, high))
            said = f"{share} prefer the first ({' to '.join(ends)}, 95% interval; equation 3)"
            lead.append((said, ""))
    behaviours = run.view["overview"]["behaviours"] or ()
    return _table_page(
        run,
        own.table(asked),
        "/records",
        asked,
        records.ASKED,
        template="records",
        lead=lead,
        codes=records.CODES,
        outcomes=records.OUTCOMES.items(),
        least=records.MASS,
        behaviours=[(one["name"], one["title"]) for one in behaviours],
    )


def records_of(run: OpenedRun) -> records.Records:
    """The records; `NotThereError` where they are not to be looked at."""
    if run.records is None:
        raise NotThereError(run.way_to_records)
    return run.records


def _table_page(
    run: OpenedRun,
    table: Shown,
    path: str,
    asked: Parameters,
    fixed: Sequence[str] = (),
    *,
    template: str = "sheets",
    **shown: Any,
) -> Response:
    """A page of a table, or all of it as CSV."""
    refuse_unknown(asked, [*table.parameters, *fixed])
    if asked.get("csv"):
        lines = table.csv(table.query(asked, run.hierarchy))
        headers = {"content-disposition": f'attachment; filename="{table.name}-exact.csv"'}
        return StreamingResponse(lines, media_type="text/csv", headers=headers)
    own = sheet(run, table, path, asked, fixed=tuple(fixed))
    return page(run, template, table.heading, sheets=[own], asked=asked, form=own, **shown)


def show_finding(run: OpenedRun, asked: Parameters) -> Response:
    """One finding: evidence, parts, the records behind it, and the waiver to paste."""
    found = run.findings.get(asked.get("id", ""))
    if found is None:
        raise NotThereError(f"The run has no finding {asked.get('id', '')}.")
    check = next(one for one in run.view["checks"] if one["name"] == found["check"])
    of_parts = Columns(check_columns(check).values(), Columns.read(check["part_columns"]).values())
    return page(
        run,
        "finding",
        first_sentence(found["statement"]),
        finding=printable(found),
        check=check,
        judged=printable(_judged(found)),
        numbers=printable(_numbers(check_columns(check), found["evidence"])),
        parts=printable(
            [(one["nodes"], _numbers(of_parts, one["evidence"])) for one in found["parts"]]
        ),
        cases=_cases(run, found, asked),
        explains=[one for one in run.findings.values() if found["id"] in one["folded"]],
        explained_by=[run.findings[id] for id in found["folded"] if id in run.findings],
        waiver=waiver(found),
    )


def _cases(run: OpenedRun, found: Row, asked: Parameters) -> Sheet | None:
    """The records behind a finding, with their labels where these may be shown; None for none."""
    if not found["cases"]:
        return None
    cases = run.tables["cases"]
    wanted = {"finding": found["id"], "start": asked.get("start", "")}
    rows, total = cases.rows.page(cases.query(wanted, run.hierarchy))
    if run.records is not None:
        rows = run.records.told(rows["instance"], nodes_named(found))
        if found["check"] not in OF_MODEL:
            rows = rows.select("instance", "labels", "others")
    own = Columns(_MARKED[name] for name in _MARKED if name in rows.columns)
    rows = rows.with_columns(finding=pl.lit(found["id"]))
    return sheet(run, Shown("cases", own, cases.rows), "/finding", asked, fixed=("id",),
                 caption="Records behind this finding", page=(rows, total))  # fmt: skip


_MARKED = Columns(
    text(
        "instance labels others answers other_answers",
        "Record|Labels behind the finding|Other labels|Answers behind it|Other answers",
    )
)


def waiver(finding: Row) -> str:
    """A waiver of one finding for a policy file, to be filled in; empty if it cannot be waived."""
    if finding["check"] in OF_WAIVERS:
        return ""
    return f"""[[waivers]]
check = "{finding["check"]}"
finding = "{finding["id"]}"
decision = "waived"  # a fault that does not count; or "accepted", or "to_fix"
owner = ""           # who answers for it
reason = ""          # why
expires = ""         # the last day, without quotes, such as 2030-12-31
"""


def _judged(finding: Row) -> list[str]:
    """Sentences on a finding's waiver, on who promised to fix it, and that the reference has it."""
    said, waived = [], finding["waiver"]
    if waived:
        decided = finding["status"].capitalize()
        said = [f"{decided} by {waived['owner']} until {waived['expires']}: {waived['reason']}"]
    known = "The reference run has this finding too, and no worse."
    return [*said, *promise(finding), *([known] if finding["known"] else [])]


def show_node(run: OpenedRun, asked: Parameters) -> Response:
    """A node in its place, its partners by strength, and all that the run's tables say of it."""
    node = asked.get("id", "")
    at = index_of(node, run.hierarchy)
    row = run.result.nodes.row(at, named=True)
    sheets = [_children(run, asked)]
    for named in run.pairs:
        own = partners(run, named, node)
        if named == "model_pairs":
            there = (run.tables[one] for one in EXCHANGED if one in run.tables)
            sheets += [few(run, one.only(OF_EXCHANGED), below=node) for one in there]
            confused = own.only("other relation confusion joint")
            asks = {"order": "-confusion", "relation": "!ancestor", "depth": f"{row['depth']}"}
            sheets.append(few(run, confused, CONFUSED, node=node, **asks))
        asks = {"order": "-strength", "relation": "!ancestor"}
        sheets.append(few(run, own.only(PARTNERS), node=node, **asks))
    said = list[tuple[str, int, str]]()
    for table in run.tables.values():
        named_by = [*table.node_columns, *(["relation"] if "relation" in table.columns else [])]
        if isinstance(table.rows, Stored) and table.name not in ("nodes", "edges", *EXCHANGED):
            for column in named_by:
                rows = table.rows.page(table.query({column: node}, run.hierarchy))[1]
                if rows and table.name in ("drift_nodes", "residuals"):
                    sheets.append(few(run, table, **{column: node}))
                elif rows:
                    to = address(f"/table/{table.name}", **{column: node})
                    of = f", {table.columns[column].heading.lower()}" if column in "ab" else ""
                    said.append((f"{table.heading}{of}", rows, to))
    return page(
        run,
        "node",
        title_and_code(node, row["title"]),
        node=printable(row),
        above=_above(run, node),
        parents=[(one, run.title(one)) for one in run.hierarchy.parents(node)],
        findings_on=run.findings_on(node),
        measures=[_measure(one) for one in run.result.metric_rows if one["scope"] == node],
        said=said,
        sheets=[one for one in sheets if one.total],
        ways=_ways(run, node),
    )


def _measure(metric: Row) -> tuple[str, str, Row]:
    """A metric of a node: its title, what distinguishes it from others of its name, itself."""
    by = {of: value for of, value in metric["parameters"].items() if of != "aggregation"}
    return METRICS.get(metric["name"], name(metric["name"])), level(by), metric


def _children(run: OpenedRun, asked: Parameters) -> Sheet:
    below = run.hierarchy.children(asked["id"])
    rows = run.result.nodes.filter(pl.col("node").is_in(below))
    rows = rows.sort("support", "node", descending=[True, False])
    shown = run.tables["nodes"].only("node support direct height residual")
    return sheet(run, replace(shown, rows=Stored(rows.lazy())), "/node", asked, fixed=("id",),
                 caption="Children, the most frequent first")  # fmt: skip


def _above(run: OpenedRun, node: str) -> list[tuple[str, str]]:
    """All nodes above one, the root first."""
    places = [run.hierarchy.index(one) for one in run.hierarchy.ancestors(node)]
    ranked = sorted(places, key=lambda one: (run.hierarchy.depth[one], one))
    return [(run.hierarchy.nodes[one], run.hierarchy.titles[one]) for one in ranked]


def _ways(run: OpenedRun, node: str) -> list[tuple[str, str]]:
    """Questions about the records with a node, with addresses; none where no records are shown."""
    if not run.shows_records:
        return []
    ways = [("Its records", {"nodes": node})]
    if run.has_model:
        ways += [
            ("Labelled with it, and missed by the model", {"nodes": node, "unpredicted": node}),
            ("Answered so without the label", {"predicted": node, "unlabelled": node}),
        ]
    return [(words, address("/records", **asked)) for words, asked in ways]


def show_search(run: OpenedRun, asked: Parameters) -> Response:
    """Nodes by id or title: equal ids, ids that begin so, then by frequency."""
    typed = asked.get("q", "").strip()
    wanted, begins = typed.lower(), pl.col("node").str.to_lowercase()
    titled = pl.col("title").fill_null("").str.to_lowercase()
    holds = begins.str.contains(wanted, literal=True) | titled.str.contains(wanted, literal=True)
    found = (
        run.result.nodes.filter(holds if wanted else pl.lit(value=False))
        .with_columns(exact=begins == wanted, first=begins.str.starts_with(wanted))
        .sort("exact", "first", "support", "node", descending=[True, True, True, False])
    )
    if len(found) == 1 or (len(found) and found["exact"][0]):
        return RedirectResponse(address("/node", id=found["node"][0]), 303)
    table = run.tables["nodes"].only("node support depth")
    shown = sheet(run, replace(table, rows=Stored(found.lazy())), "/search", asked, fixed=("q",),
                  caption=f"Nodes for “{typed}”")  # fmt: skip
    return page(run, "sheets", "Search", sheets=[shown], lead=[], typed=typed)


def show_pair(run: OpenedRun, asked: Parameters) -> Response:
    """Two nodes beside each other: in the labels, in the predictions, and what carries them."""
    a, b = (index_of(asked.get(end, ""), run.hierarchy) for end in "ab")
    if a == b:
        raise NotThereError("Two different nodes of the hierarchy are needed to show a pair.")
    relation, common = relate_two(run.hierarchy, a, b)
    nodes, titles = run.hierarchy.nodes, run.hierarchy.titles
    called = [(nodes[one], titles[one]) for one in (a, b, common)]
    pairs = run.pairs["pairs"]
    rows = pairs.carriers(a, b, run.result.nodes["direct"].to_numpy() > 0)
    carriers = run.tables["pairs"].only("a b joint expected_length ratio")
    return page(
        run,
        "pair",
        " and ".join(title_and_code(*one) for one in called[:2]),
        called=called,
        related=RELATED[relation],
        columns=[
            (words, _numbers(run.tables[named].only(OF_PAIR).columns, own.pair(a, b) or {}))
            for words, (named, own) in zip(WHOSE, run.pairs.items(), strict=False)
        ],
        findings_on=run.findings_on(nodes[a], nodes[b]),
        sheets=[sheet(run, replace(carriers, rows=Stored(rows.lazy())), "/pair", {},
                      caption="Pairs of labels that carry it")],
    )  # fmt: skip


def _numbers(columns: Columns, row: Row) -> list[tuple[str, str]]:
    """Headings and texts of what a row states; ends of intervals stand with their number."""
    within = {name for one in columns.values() for name in (one.among, *one.ends)}
    return [
        (one.heading or name(one.name).capitalize(), cell(one, row, columns, None).said)
        for one in columns.values()
        if row.get(one.name) is not None and one.name not in within
    ]


def result_json(run: OpenedRun, _: Parameters) -> Response:
    """The ``result.json`` of the run, which may be shared."""
    return Response(run.shared, media_type="application/json")
