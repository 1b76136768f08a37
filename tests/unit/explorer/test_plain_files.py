"""The shared view as plain files: whole, alone, and nothing that is not shared."""

from __future__ import annotations

import json
import re
import shutil
from datetime import date
from hashlib import sha256
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from audit.base.errors import OutputError
from audit.explorer.application import write_plain_files
from audit.explorer.run.opened_run import OpenedRun, open_run, open_shared
from audit.results.shared_tables import shared_titles

DAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plain") / "public"
    files = write_plain_files(open_shared(folder, "run", day=DAY), out)
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
    shared = open_shared(folder, "run").findings

    texts = [page.read_text("utf-8") for page in written.glob("finding-*.html")]
    assert len(texts) == len(shared)
    for finding in shared:
        assert sum(f"Finding: {finding['id']}\n" in unescape(text) for text in texts) == 1


def test_each_node_that_is_told_has_a_page(written: Path, folder: Path) -> None:
    titles = shared_titles(open_shared(folder, "run").shared)

    texts = [unescape(page.read_text("utf-8")) for page in written.glob("node-*.html")]
    headings = {text[text.index("<h1>") : text.index("</h1>")] for text in texts}
    assert len(headings) == len(titles) > 1
    assert all(sum(f"<bdi>{node}</bdi>" in one for one in headings) == 1 for node in titles)
    (root,) = (text for text in texts if "<bdi>root</bdi></h1>" in text)
    assert "<dt>Instances</dt>" in root


def test_the_first_page_says_when_and_what_it_rests_on(written: Path, folder: Path) -> None:
    text = unescape((written / "index.html").read_text("utf-8"))
    content = (folder / "result.json").read_bytes()
    identity = json.loads(content)["identity"]

    assert (written / "result.json").read_bytes() == content
    assert "1 March 2026" in text
    for digest in (sha256(content).hexdigest(), identity["hierarchy"]["sha256"]):
        assert digest in text
    for page in ("findings", "hierarchy", "branches", "report"):
        assert f'<li><a href="{page}.html">' in text


def test_pictures_are_files_that_may_be_shared(written: Path) -> None:
    pictures = [path for path in written.glob("*.svg") if path.name != "icon.svg"]
    assert pictures
    for path in pictures:
        text = path.read_text("utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "unsuppressed" not in text


def test_a_page_is_called_the_same_whatever_else_a_run_holds(
    written: Path, folder: Path, tmp_path: Path
) -> None:
    shared = dict(open_shared(folder, "run").shared)
    shared["checks"] = [{**check, "findings": [], "total": 0} for check in shared["checks"]]
    write_plain_files(OpenedRun("run", "run", shared, DAY), tmp_path / "fewer")

    fewer = {path.name for path in (tmp_path / "fewer").iterdir()}
    assert fewer < {path.name for path in written.iterdir()}
    assert any(name.startswith("node-") for name in fewer)


def test_no_restricted_table_is_read(folder: Path, written: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run", ignore=shutil.ignore_patterns("restricted"))
    write_plain_files(open_shared(tmp_path / "run", "run", day=DAY), tmp_path / "again")

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
