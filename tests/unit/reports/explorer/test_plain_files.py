"""The shared view as plain files: whole, alone, and nothing that is not shared."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from audit.base.errors import OutputError
from audit.runs.exploring.opened_run import open_run, open_shared
from reports.explorer.plain_files import write_plain_files


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plain") / "public"
    files = write_plain_files(open_shared(folder, "run"), out)
    assert files == len([*out.iterdir()])
    return out


def test_every_link_leads_to_a_file_beside_it(written: Path) -> None:
    for page in written.glob("*.html"):
        text = page.read_text("utf-8")
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            name, *place = unescape(link).split("#")
            assert not name or (written / name).is_file(), (page.name, link)
            if not name and place != ["content"]:
                assert f'id="{place[0]}"' in text
        assert "<form" not in text


def test_each_finding_that_is_shared_has_a_page(written: Path, folder: Path) -> None:
    shared = open_shared(folder, "run").findings()

    texts = [page.read_text("utf-8") for page in written.glob("finding-*.html")]
    assert len(texts) == len(shared)
    for finding in shared:
        assert sum(f"Finding: {finding['id']}\n" in unescape(text) for text in texts) == 1


def test_no_restricted_table_is_read(folder: Path, written: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run", ignore=shutil.ignore_patterns("restricted"))
    write_plain_files(open_shared(tmp_path / "run", "run"), tmp_path / "again")

    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == {
        path.name: path.read_bytes() for path in written.iterdir()
    }


def test_a_run_in_full_is_never_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="only a shared view"):
        write_plain_files(open_run(folder, "run"), tmp_path / "out")


def test_a_folder_that_holds_something_is_kept(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")

    with pytest.raises(OutputError, match="a new or an empty folder"):
        write_plain_files(open_shared(folder, "run"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
