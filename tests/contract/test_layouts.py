"""What every row of the published layouts must keep."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from audit.base.table import Table
from audit.base.tables import open_tables
from audit.data.columns import Columns
from audit.data.labels import Nodes
from audit.data.layouts import LAYOUTS, Layout, layout_of
from audit.data.loading import labelled
from audit.data.published.events import events_of
from audit.data.published.wanted import Wanted
from fixtures.cases import Case, Made

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests" / "cases" / "labels").glob("layout_*.toml"))
BY_COLUMNS = [one for one in LAYOUTS if one.needs]
sys.path.insert(0, str(ROOT / "scripts"))


def with_columns(layout: Layout) -> Table:
    """A table without rows in the columns that a publisher's table has."""
    beside = (layout.group, layout.split, layout.position, layout.version)
    labels = (one.replace("#", "1") for one in layout.labels)
    names = dict.fromkeys(filter(None, (*layout.needs, *layout.id, *labels, *beside)))
    written = {name.lower(): name for name in names}
    return Table("t", dict.fromkeys(written.values()), lambda *_: iter(()))  # type: ignore[arg-type]


def test_no_other_layout_fits_as_well() -> None:
    for layout in BY_COLUMNS:
        table = with_columns(layout)
        alike = [
            one for one in BY_COLUMNS if one.fits(table) and len(one.needs) >= len(layout.needs)
        ]
        assert alike == [layout]
        assert layout_of(table) == layout


def test_a_layout_says_what_an_instance_is_unless_another_id_is_stated() -> None:
    for layout in BY_COLUMNS:
        table = with_columns(layout)
        assert layout.columns(table, Columns()).called == layout.called
        assert layout.columns(table, Columns(id=layout.needs[:1])).called == "instances"


def test_every_layout_says_who_publishes_it() -> None:
    assert [one.name for one in LAYOUTS if not one.source.startswith("https://")] == []
    titles = [one.title for one in LAYOUTS]
    assert sorted(set(titles)) == sorted(titles)


def read(path: Path, folder: Path) -> list[Layout | None]:
    """The layouts of the tables of a case."""
    case, made = Case.read(path), Made(folder)
    if (beside := path.with_suffix("")).is_dir():
        shutil.copytree(beside, folder)
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    given = {name: made.of(value) for name, value in case.given.items()}
    nodes = Nodes(made.call("hierarchy", {"source": case.given["hierarchy"]}))
    stated = Columns(codes=tuple(filter(None, [given.get("codes")])))
    known = (given.get("system", ""), given.get("vocabulary", ""))
    found = events_of(given["data"], Wanted(stated, nodes, *known), given.get("encoding", ""))
    tables = [found] if found else labelled(open_tables(given["data"]), path)
    return [layout_of(table) for table in tables]


def test_every_layout_has_a_case(tmp_path: Path) -> None:
    hit = [one for n, path in enumerate(CASES) for one in read(path, tmp_path / str(n))]
    assert None not in hit
    assert {one.title for one in hit if one} == {one.title for one in LAYOUTS}
