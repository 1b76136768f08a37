"""The pictures and tables of chapters and findings as files: each leads to its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from audit.base.node_names import title_and_code
from audit.explorer.pictures import Picture, plot_drawing
from audit.explorer.sheets import csv_lines
from audit.explorer.site import Site, address, parameters
from reports.words.parts import (
    Badge,
    Card,
    Cell,
    Code,
    Codes,
    Figure,
    Judged,
    Linked,
    Named,
    Node,
    Nodes,
    Plot,
    Ranged,
    Table,
)
from reports.words.words import number

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class ChapterFiles:
    """What the pages of some chapters lead to.

    Args:
        path: Address of the page that shows them.
        asked: Parameters of that address.
        pictures: Pictures by the names of their files.
        tables: Tables by the names of theirs.
    """

    path: str
    asked: dict[str, str]
    pictures: dict[str, Picture] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def led(self, record: Any, heading: str = "") -> Any:
        """The same record with every picture and table in it leading to its file."""
        if isinstance(record, Table):
            self.tables[record.id] = record
            return replace(record, file=address(self.path, **self.asked, csv=record.id))
        if isinstance(record, Figure):
            text = f"{record.alt} {record.caption}"
            picture = Picture(record.title, text, record.drawing, record.key_title, record.key)
            return replace(
                record, file=self._file(record.id, picture), table=self.led(record.table)
            )
        if isinstance(record, Plot):
            picture = Picture(heading, record.alt, plot_drawing(record))
            return replace(record, file=self._file(f"evidence-{len(self.pictures) + 1}", picture))
        if isinstance(record, tuple):
            return tuple(self.led(one, heading) for one in record)
        if not is_dataclass(record) or isinstance(record, type):
            return record
        own = record.headline if isinstance(record, Card) else heading
        inner = {each.name: getattr(record, each.name) for each in fields(record)}
        changed = {name: self.led(value, own) for name, value in inner.items()}
        kept = all(changed[name] is value for name, value in inner.items())
        return record if kept else replace(record, **changed)

    def answer(self, site: Site, request: Request, *, in_full: bool) -> Response | None:
        """The file that the address of a request asks for; None if it asks for none of these.

        Args:
            site: The application's run.
            request: The request.
            in_full: Whether the numbers of these chapters are unsuppressed.
        """
        asked = parameters(request)
        if (id := asked.get("svg", "")) in self.pictures:
            return site.svg(id, self.pictures[id], in_full=in_full)
        if (id := asked.get("csv", "")) in self.tables:
            return site.csv(id, csv_lines(table_rows(self.tables[id])), in_full=in_full)
        return None

    def _file(self, name: str, picture: Picture) -> str:
        self.pictures[name] = picture
        return address(self.path, **self.asked, svg=name)


def led_to_files(record: Record, path: str, **asked: str) -> tuple[Record, ChapterFiles]:
    """A chapter or card whose pictures and tables lead to their files, and these.

    Args:
        record: A record of the templates with others in it, such as a report.
        path: Address of the page that shows it.
        asked: Parameters of that address.
    """
    files = ChapterFiles(path, asked)
    return files.led(record), files


def table_rows(table: Table) -> Iterator[Sequence[str]]:
    """The headings and rows of a table, as it is printed."""
    yield [column.heading for column in table.columns]
    for cells in (*table.rows, *([table.total] if table.total else [])):
        yield [_text(cell) for cell in cells]


def _text(cell: Cell) -> str:
    """A cell as a line of text."""
    match cell:
        case str():
            return cell
        case Node():
            return title_and_code(cell.id, cell.title)
        case Nodes():
            more = [f"and {number(cell.more)} more"] if cell.more else []
            return "; ".join([*map(_text, cell.nodes), *more])
        case Badge():
            return cell.word
        case Judged():
            return "; ".join([cell.badge.word, *cell.lines])
        case Ranged():
            return f"{cell.text} ({cell.interval})"
        case Codes():
            return "; ".join(cell.texts)
        case Named():
            return f"{cell.text} ({cell.name})"
        case Code() | Linked():
            return cell.text
