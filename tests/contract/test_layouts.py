"""What every row of the published layouts must keep."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fixtures.cases import Case, Made
from fixtures.registered import LAYOUTS, Layout, Stated, StoredTable, layout_of, layouts_of

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests" / "cases" / "labels").glob("layout_*.toml"))
BY_COLUMNS = [one for one in LAYOUTS if one.needs]
sys.path.insert(0, str(ROOT / "scripts"))


def with_columns(layout: Layout) -> StoredTable:
    """A table without rows in the columns that a publisher's table has."""
    beside = (layout.group, layout.split, layout.position, layout.version)
    labels = (one.replace("#", "1") for one in layout.labels)
    names = dict.fromkeys(filter(None, (*layout.needs, *layout.id, *labels, *beside)))
    written = {name.lower(): name for name in names}
    return StoredTable("t", dict.fromkeys(written.values()), lambda *_: iter(()))  # type: ignore[arg-type]


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
        assert layout.columns(table, Stated()).called == layout.called
        assert layout.columns(table, Stated(id=layout.needs[:1])).called == "instances"


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
    given["hierarchy"] = made.call("hierarchy", {"source": case.given["hierarchy"]})
    return layouts_of(path, **given)


def test_every_layout_has_a_case(tmp_path: Path) -> None:
    hit = [one for n, path in enumerate(CASES) for one in read(path, tmp_path / str(n))]
    assert None not in hit
    assert {one.title for one in hit if one} == {one.title for one in LAYOUTS}
