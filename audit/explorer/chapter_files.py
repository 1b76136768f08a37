"""The pictures and tables of chapters and findings as files: each leads to its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from starlette.requests import Request

from audit._reports.words.parts import (
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
    Unfolding,
)
from audit._reports.words.words import number
from audit.base.plurals import title_and_code
from audit.explorer.links import address, rebuilt
from audit.explorer.pictures import Picture, plot_drawing
from audit.explorer.sheets import csv_lines
from audit.explorer.site import FileAsked, Site, csv_file, parameters

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class ChapterFiles:
    """What the pages of some chapters lead to: pictures and tables by the names of their files."""

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
        own = record.headline if isinstance(record, Card) else heading
        return rebuilt(record, lambda inner: self.led(inner, own))

    def _file(self, name: str, picture: Picture) -> str:
        self.pictures[name] = picture
        return address(self.path, **self.asked, svg=name)


def with_files(
    site: Site, request: Request, record: Record, *, in_full: bool = False, **asked: str
) -> Record:
    """A record of a page, such as a report, whose pictures and tables lead to their files."""
    files = ChapterFiles(request.url.path, asked)
    shown: Record = files.led(record)
    wanted = parameters(request)
    if (id := wanted.get("svg", "")) in files.pictures:
        raise FileAsked(site.svg(id, files.pictures[id], in_full=in_full))
    if (id := wanted.get("csv", "")) in files.tables:
        raise FileAsked(csv_file(id, csv_lines(table_rows(files.tables[id])), in_full=in_full))
    return shown


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
            return f"{cell.text} ({cell.interval})" if cell.interval else cell.text
        case Unfolding():
            return f"{_text(cell.shown)}: {cell.sentence}"
        case Codes():
            return "; ".join(cell.texts)
        case Named():
            return f"{cell.text} ({cell.name})"
        case Code() | Linked():
            return cell.text
