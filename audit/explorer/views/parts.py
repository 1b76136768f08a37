"""The verdict, and the tables of analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from audit.base.declared import Columns, Table
from audit.explorer.links import address, finding_address, instance_address
from audit.explorer.run.paged_tables import Page, PartTable, Row, Span, TableQuery, Values
from audit.explorer.sheets import Column, Kind, Sheet
from audit.explorer.site import FileAsked, NotThereError, Site, View, parameters, path_of
from audit.results.printed import looked_at
from reports.core import digests, model_lines
from reports.findings import ten, verdict
from reports.words import name as in_words
from reports.words import number

CHECKS = (
    Column("title", "Check"),
    Column("status", "Result", "severity"),
    Column("total", "Findings", "count"),
    Column("looked_at", "Looked at"),
)


def show_verdict(site: Site, request: Request) -> Response:
    """The verdict, and what each check found."""
    view = site.printable
    rows = [{**check, "looked_at": looked_at(check, None)} for check in view["checks"]]
    sheet = site.sheet(
        request, "checks", "What each check found", CHECKS, lambda _: Page(rows, len(rows))
    )
    ledger, identity = view["ledger"], view["identity"]
    facts = [
        ("Instances", number(ledger["instances"])),
        ("Labels per instance, mean", number(ledger["labels_per_instance"]["mean"])),
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
        verdict=verdict(view),
        stated=said,
        lines=model_lines(view),
        ten=ten(view),
        facts=facts,
        sheet=sheet,
        digests=[
            *((one["what"], one["value"]) for one in digests(identity)),
            ("result.json", sha256(site.run.shared).hexdigest()),
        ],
    )


NODES = ("relation", "answer", "node", "parent", "sibling", "folded_into")
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


def show(site: Site, request: Request) -> Response:
    """The tables of an analysis."""
    part = _part(site, request)
    tables = site.run.tables(part)
    return site.page(
        request,
        "part",
        site.parts[part],
        tables=[
            {
                "title": _title(site, part, name),
                "row": _declared(site, part, name).row or "a row",
                "rows": table.rows,
                "address": f"{path_of(part)}/{name}",
            }
            for name, table in tables.items()
            if table.rows
        ],
        empty=[_title(site, part, name) for name, table in tables.items() if not table.rows],
    )


def _part(site: Site, request: Request) -> str:
    part: str = request.path_params["part"]
    if part not in site.parts:
        raise NotThereError(f"This run has no {part}.")
    return part


def show_table(site: Site, request: Request) -> Response:
    """One table of an analysis, by pages."""
    part, name = _part(site, request), request.path_params["table"]
    table = site.run.tables(part).get(name)
    if table is None:
        raise NotThereError(f"This run has no table {name} of {part}.")
    asked = parameters(request)
    query, columns = query_of(asked, table), columns_of(site, part, name)
    sheet = _sheet(site, request, part, name, query)
    choices = {column.name: table.choices(column.name) for column in columns}
    return site.page(
        request,
        "part_table",
        _title(site, part, name),
        crumbs=[(site.parts[part], path_of(part))],
        sheet=sheet,
        query=query,
        asked=asked,
        headings={column.name: column.heading for column in columns},
        choices={column: texts for column, texts in choices.items() if len(texts) > 1},
        fixed={name: text for name, text in query.equal.items() if not choices.get(name)},
        orders=_orders(table, columns),
    )


def show_record(site: Site, request: Request) -> Response:
    """All that the tables of an analysis say of one record, such as a tuple."""
    part = _part(site, request)
    wanted = parameters(request).get("id", "")
    tables = site.run.tables(part)
    query = TableQuery({"id": wanted})
    sheets = [
        _sheet(site, request, part, name, query)
        for name, table in tables.items()
        if "id" in table.columns and table.page(query, Span(0, 0)).total
    ]
    if not sheets:
        raise NotThereError(f"No table has a record {wanted}.")
    return site.page(
        request,
        "tuple",
        f"Record {wanted}",
        crumbs=[(site.parts[part], path_of(part))],
        sheets=sheets,
        instance=_instance_address(site, wanted),
    )


def said_of(site: Site, node: str) -> Sequence[Row]:
    """What the tables of each part hold on a node: rows ``part, title, rows, address``."""
    return [
        {
            "part": site.parts[part],
            "title": _title(site, part, name),
            "rows": rows,
            "address": address(f"{path_of(part)}/{name}", **{column: node}),
        }
        for part in site.parts
        for name, table in site.run.tables(part).items()
        for column in [one for one in NODES if one in table.columns][:1]
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
    declared = _declared(site, part, name).columns
    return tuple(
        _column(column, values, declared[column].heading if column in declared else "")
        for column, values in held.items()
        if not (titled and column == "title")
    )


def _column(name: str, values: Values, heading: str) -> Column:
    heading = heading or in_words(name).capitalize()
    if name in NODES and values == "text":
        return Column(name, heading, "node", title=f"{name}_title")
    return Column(name, heading, KINDS[values])


def _sheet(site: Site, request: Request, part: str, name: str, query: TableQuery) -> Sheet:
    table, columns = site.run.tables(part)[name], columns_of(site, part, name)
    findings = {finding["id"] for finding in site.run.findings}

    def rows(span: Span) -> Page:
        return table.page(query, span).each(
            lambda row: _with_links(site, part, findings, columns, row)
        )

    if parameters(request).get("csv") == name:
        raise FileAsked(site.long_file(name, columns, rows))
    return site.sheet(request, name, _title(site, part, name), columns, rows)


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
            led["id_address"] = address(f"{path_of(part)}/record", id=value)
        elif column.name == "finding" and value in findings:
            led["finding_address"] = finding_address(value)
        elif column.name == "check":
            led["check_address"] = address("/findings", check=value, state="all")
    return led


def _instance_address(site: Site, instance: str) -> str:
    """Address of the page of an instance; empty if it cannot be looked at."""
    shown = site.run.instances is not None and site.run.instances.view(instance) is not None
    return instance_address(instance) if shown else ""


def _declared(site: Site, part: str, name: str) -> Table:
    """How a table is declared; one that is in the window alone has no title."""
    stored = site.run.view["tables"][part]["tables"].get(name)
    return Table.read(stored) if stored else Table(Columns())


def _title(site: Site, part: str, name: str) -> str:
    return _declared(site, part, name).title or in_words(name).capitalize()


def _orders(table: PartTable, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Names of orders and their words: by each number, the largest or the smallest first."""
    for column in columns:
        if table.columns[column.name] in ("count", "number"):
            yield column.name, f"{column.heading}, largest first"
            yield f"{column.name}{RISING}", f"{column.heading}, smallest first"


PAGES: Mapping[str, View] = {
    "/": show_verdict,
    path_of("{part}"): show,
    f"{path_of('{part}')}/record": show_record,
    f"{path_of('{part}')}/{{table}}": show_table,
}
