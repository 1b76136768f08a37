"""The verdict, and the tables of analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from audit._reports.chapters.analyses import OF_NAME
from audit._reports.chapters.tables import digests
from audit._reports.words.part_tables import Described, Groups, heading
from audit._reports.words.words import decimal, number
from audit.explorer.links import address, finding_address, instance_address
from audit.explorer.run.paged_tables import Page, PartTable, Row, Span, TableQuery, Values
from audit.explorer.sheets import Column, Kind, Sheet
from audit.explorer.site import FileAsked, NotThereError, Site, View, parameters, path_of
from audit.results.parts import OTHERS
from audit.results.printed import looked_at

CHECKS = (
    Column("title", "Check"),
    Column("status", "Result", "severity"),
    Column("total", "Findings", "count"),
    Column("looked_at", "Looked at"),
)


def show_verdict(site: Site, request: Request) -> Response:
    """The verdict, and what each check found."""
    view = site.printable
    rows = [{**check, "looked_at": looked_at(check)} for check in view["checks"]]
    sheet = site.sheet(
        request, "checks", "What each check found", CHECKS, lambda _: Page(rows, len(rows))
    )
    ledger, identity = view["ledger"], view["identity"]
    facts = [
        ("Instances", number(ledger["instances"])),
        ("Labels per instance", f"{decimal(ledger['labels_per_instance']['mean'], 1)} (mean)"),
        ("Rows read", number(ledger["rows_read"])),
        ("Hierarchy", identity["hierarchy"]["name"]),
        ("Nodes", number(identity["hierarchy"]["nodes"])),
        ("Policy", identity["policy"]["name"]),
    ]
    tool = identity["tool"]
    said = site.imprint.stated(f"{tool['name']} {tool['version']}", None)
    return site.page(
        request,
        "verdict",
        "Verdict",
        verdict=site.verdict,
        stated=said[:-1],  # the line above every page says who may read it
        facts=facts,
        sheet=sheet,
        digests=[
            *digests(identity),
            ("result.json", sha256(site.run.shared).hexdigest()),
        ],
    )


RECORDS = {part: one.record for part, one in OF_NAME.items() if one.record}
"""What a row with an id is about, by the analysis whose records have pages of their own."""
NODES = ("node", "parent", "sibling", "folded_into")
"""Columns that name nodes."""
KINDS: Mapping[Values, Kind] = {
    "text": "linked",
    "texts": "texts",
    "count": "count",
    "number": "precise",
    "flag": "flag",
}
RISING = ":rising"
"""What the name of an order ends with if the smallest come first."""


def show(part: str, site: Site, request: Request) -> Response:
    """The tables of a part."""
    if not site.has(part):
        raise NotThereError(f"This run has no {part}.")
    tables = site.run.tables(part)
    return site.page(
        request,
        "part",
        site.parts[part],
        groups=_groups(part, tables),
        empty=[_described(part, name).title for name, table in tables.items() if not table.rows],
    )


def show_table(part: str, site: Site, request: Request) -> Response:
    """One table of a part, by pages."""
    name = request.path_params["table"]
    table = site.run.tables(part).get(name)
    if table is None:
        raise NotThereError(f"This run has no table {name} of {part}.")
    asked, described = parameters(request), _described(part, name)
    query, columns = query_of(asked, table), columns_of(site, part, name)
    sheet = _sheet(site, request, part, name, query)
    choices = {column.name: table.choices(column.name) for column in columns}
    return site.page(
        request,
        "part_table",
        described.title,
        crumbs=[(site.parts[part], path_of(part))],
        described=described,
        sheet=sheet,
        query=query,
        asked=asked,
        headings={column.name: column.heading for column in columns},
        choices={column: texts for column, texts in choices.items() if len(texts) > 1},
        fixed={name: text for name, text in query.equal.items() if not choices.get(name)},
        orders=_orders(table, columns),
    )


def show_record(part: str, site: Site, request: Request) -> Response:
    """All that the tables say of one record, such as a tuple."""
    record = RECORDS[part]
    wanted = parameters(request).get("id", "")
    tables = site.run.tables(part)
    query = TableQuery({"id": wanted})
    sheets = [
        _sheet(site, request, part, name, query)
        for name, table in tables.items()
        if "id" in table.columns and table.page(query, Span(0, 0)).total
    ]
    if not sheets:
        raise NotThereError(f"No table has a {record} {wanted}.")
    return site.page(
        request,
        "tuple",
        f"{record.capitalize()} {wanted}",
        crumbs=[(site.parts[part], path_of(part))],
        sheets=sheets,
        instance=_instance_address(site, wanted),
    )


def said_of(site: Site, node: str) -> Sequence[Row]:
    """What the tables of each part hold on a node: rows ``part, title, rows, address``."""
    return [
        {
            "part": site.parts[part],
            "title": _described(part, name).title,
            "rows": rows,
            "address": address(f"{path_of(part)}/{name}", **{column: node}),
        }
        for part in site.parts
        for name, table in site.run.tables(part).items()
        if (column := _node_of(part)) in table.columns
        if (rows := table.page(TableQuery({column: node}), Span(0, 0)).total)
    ]


def query_of(asked: Mapping[str, str], table: PartTable) -> TableQuery:
    """The query that an address states; what the table does not have restricts nothing."""
    texts = [name for name, values in table.columns.items() if values == "text"]
    order = asked.get("order", "")
    return TableQuery(
        equal={name: asked[name] for name in texts if asked.get(name)},
        holding=asked.get("holding", ""),
        order=order.removesuffix(RISING),
        rising=order.endswith(RISING),
    )


def columns_of(site: Site, part: str, name: str) -> tuple[Column, ...]:
    """Columns of a table."""
    held = site.run.tables(part)[name].columns
    titled = "node" in held and "title" in held
    return tuple(
        _column(part, column, values)
        for column, values in held.items()
        if not (titled and column == "title")
    )


def _column(part: str, name: str, values: Values) -> Column:
    if _node_of(part) in NODES and name in NODES and values == "text":
        return Column(name, heading(name), "node", title=f"{name}_title")
    called = (RECORDS.get(part) if name == "id" else None) or name
    return Column(name, heading(called), KINDS[values])


def _node_of(part: str) -> str:
    return OF_NAME[part].node if part in OF_NAME else NODES[0]


def _sheet(site: Site, request: Request, part: str, name: str, query: TableQuery) -> Sheet:
    table, columns = site.run.tables(part)[name], columns_of(site, part, name)
    findings = {finding["id"] for finding in site.run.findings}

    def rows(span: Span) -> Page:
        return table.page(query, span).each(
            lambda row: _with_links(site, part, findings, columns, row)
        )

    if parameters(request).get("csv") == name:
        raise FileAsked(site.long_file(name, columns, rows))
    described = _described(part, name)
    return site.sheet(request, name, f"{described.title}: a row is {described.row}", columns, rows)


def _with_links(
    site: Site, part: str, findings: set[str], columns: Sequence[Column], row: Row
) -> dict[str, object]:
    """A row with the titles of its nodes, and the addresses that it leads to."""
    led = dict(row)
    for column in columns:
        value = row[column.name]
        if column.kind == "node":
            led[column.title] = site.run.places.title(value) if value is not None else ""
        elif column.name == "id":
            record = RECORDS.get(part)
            led["id_address"] = (
                address(f"{path_of(part)}/{record}", id=value)
                if record
                else _instance_address(site, value)
            )
        elif column.name == "finding" and value in findings:
            led["finding_address"] = finding_address(value)
        elif column.name == "check":
            led["check_address"] = address("/findings", check=value, state="all")
    return led


def _instance_address(site: Site, instance: str) -> str:
    """Address of the page of an instance; empty if it cannot be looked at."""
    shown = site.run.instances is not None and site.run.instances.view(instance) is not None
    return instance_address(instance) if shown else ""


def _described(part: str, name: str) -> Described:
    for tables in _tables_in_words(part).values():
        if name in tables:
            return tables[name]
    return Described(heading(name), "as the run has it")


def _tables_in_words(part: str) -> Groups:
    return OF_NAME[part].tables if part in OF_NAME else {}


def _groups(part: str, tables: Mapping[str, PartTable]) -> dict[str, list[Row]]:
    """The tables that have rows, by what they are about; those without words come last."""
    filled = {name: table for name, table in tables.items() if table.rows}
    groups = _tables_in_words(part)
    worded = [name for names in groups.values() for name in names]
    known = {title: [name for name in names if name in filled] for title, names in groups.items()}
    known["Others"] = [name for name in filled if name not in worded]
    return {
        title: [
            {
                "title": _described(part, name).title,
                "row": _described(part, name).row,
                "rows": filled[name].rows,
                "address": f"{path_of(part)}/{name}",
            }
            for name in names
        ]
        for title, names in known.items()
        if names
    }


def _orders(table: PartTable, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Names of orders and their words: by each number, the largest or the smallest first."""
    for column in columns:
        if table.columns[column.name] in ("count", "number"):
            yield column.name, f"{column.heading}, largest first"
            yield f"{column.name}{RISING}", f"{column.heading}, smallest first"


def _of_other(
    view: Callable[[str, Site, Request], Response], site: Site, request: Request
) -> Response:
    """A page of an analysis that is not known here."""
    part = request.path_params["part"]
    if part in OF_NAME or part not in site.parts:
        raise NotThereError("There is no such page.")
    return view(part, site, request)


PAGES: Mapping[str, View] = {
    "/": show_verdict,
    **{f"{path_of(part)}/{one}": partial(show_record, part) for part, one in RECORDS.items()},
    **{path_of(part): partial(show, part) for part in OF_NAME},
    **{f"{path_of(part)}/{{table}}": partial(show_table, part) for part in OF_NAME},
    f"/{OTHERS}/{{part}}": partial(_of_other, show),
    f"/{OTHERS}/{{part}}/{{table}}": partial(_of_other, show_table),
}
