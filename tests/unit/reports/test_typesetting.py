"""The typesetter's process: its failures become one message, and it outlives nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit._reports.pdf.typesetting import Limits, Task, TooLongError, typeset
from audit.base.errors import RenderError

PAGE = "<!doctype html><html lang='en'><title>t</title><body><h1>Page</h1>{}</body></html>"
LONG = PAGE.format("<p>Many words that have to be set in lines.</p>" * 40_000)


def task(html: str = PAGE.format(""), pages: int = 60) -> Task:
    return Task(html, "{}\n", "result.json", "0" * 32, 1_700_000_000, pages)


def stand_in(folder: Path, patch: pytest.MonkeyPatch, source: str) -> None:
    """A module that the typesetter imports in place of WeasyPrint."""
    (folder / "weasyprint.py").write_text(source, "utf-8")
    patch.syspath_prepend(str(folder))


def test_gives_a_pdf() -> None:
    assert typeset(task(), Limits()).startswith(b"%PDF-1.7")


def test_refuses_more_pages_than_allowed() -> None:
    html = PAGE.format("<p style='break-after: page'>x</p>" * 3)
    with pytest.raises(TooLongError) as caught:
        typeset(task(html, pages=2), Limits())
    assert caught.value.pages == 3


@pytest.mark.slow
def test_a_limit_of_time() -> None:
    started = time.monotonic()
    with pytest.raises(RenderError, match=r"within 1 s\nFound: it takes longer"):
        typeset(task(LONG), Limits(seconds=1))
    assert time.monotonic() - started < 30


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_a_limit_of_memory() -> None:
    with pytest.raises(RenderError, match="memory") as caught:
        typeset(task(LONG), Limits(memory=100 << 20))
    assert caught.value.exit_status == 3
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "by SIGKILL"),
        ("import os; os.abort()", "by SIGABRT"),
        ("import os; os._exit(7)", "with status 7"),
        ("raise RuntimeError('torn')", "RuntimeError: torn"),
        ("raise MemoryError", "it needs more"),
    ],
)
def test_a_child_that_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    stand_in(tmp_path, monkeypatch, source)
    with pytest.raises(RenderError, match=told):
        typeset(task(), Limits())


def test_no_pango(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "raise OSError(\"cannot load library 'libpango-1.0-0'\")")
    with pytest.raises(RenderError) as caught:
        typeset(task(), Limits())
    assert "needs the system library Pango" in str(caught.value)
    assert "sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0" in str(caught.value)
    assert "brew install pango" in str(caught.value)


def test_no_weasyprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "raise ImportError(\"No module named 'weasyprint'\")")
    with pytest.raises(RenderError, match="pip install weasyprint"):
        typeset(task(), Limits())


def test_notices_of_libraries_are_no_part_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "print('a notice'); raise RuntimeError('torn')"
    stand_in(tmp_path, monkeypatch, told)
    with pytest.raises(RenderError, match="torn"):
        typeset(task(), Limits())


@pytest.mark.slow
def test_nothing_is_fetched() -> None:
    for url in ("https://example.org/x.svg", "file:///etc/hostname", "data:text/plain,x"):
        with pytest.raises(RenderError, match="Error fetching") as caught:
            typeset(task(PAGE.format(f"<img src='{url}'>")), Limits())
        assert url in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_of_the_parent_ends_the_child(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    source = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    (tmp_path / "weasyprint.py").write_text(source, "utf-8")
    asked = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from audit._reports.pdf.typesetting import *\n"
        "typeset(Task('', '', '', '', 0, 1), Limits())"
    )
    command = [sys.executable, "-c", asked, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as parent:
        child = _written(mark)
        parent.send_signal(signal.SIGINT)
        assert parent.wait(30) != 0
    assert _gone(child)


def _written(mark: Path) -> int:
    for _ in range(600):
        if mark.exists() and mark.read_text("utf-8"):
            return int(mark.read_text("utf-8"))
        time.sleep(0.05)
    raise AssertionError("the child never started")


def _gone(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
