"""The process that draws charts: its death is told, and the next chart has a new one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from audit._reports.charts import svg
from audit._reports.charts.svg import DrawingError, draw
from audit._reports.html import html_text
from audit.base.errors import RenderError
from fixtures.results import sample_result

CHART: dict[str, Any] = {"mark": "bar", "data": {"values": [{"x": 1}]}, "encoding": {}}
CHARTS = (dict(CHART, width=width) for width in range(50, 1000))


def ended() -> None:
    """Leave no process that draws."""
    if svg._drawer.cache_info().currsize:
        svg._drawer().end()
        svg._drawer.cache_clear()


DYING = {
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "by SIGKILL",
    "import os; print('# no memory'); os.abort()": "by SIGABRT: # no memory",
    "import os; os._exit(7)": "with status 7",
    "raise RuntimeError('torn')": "RuntimeError: torn",
    "print('a notice'); raise MemoryError": "MemoryError",
}
"""What a process runs that dies, and what is told of it."""


@pytest.mark.parametrize(
    "source",
    [
        *list(DYING)[:2],
        *(pytest.param(one, marks=pytest.mark.slow) for one in list(DYING)[2:]),
    ],
)
def test_a_process_that_dies_is_told_and_replaced(source: str, tmp_path: Path) -> None:
    (tmp_path / "vl_convert.py").write_text(source)
    ended()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svg, "_drawn", svg._drawn.__wrapped__)  # so that nothing was drawn before
        patch.syspath_prepend(str(tmp_path))
        with pytest.raises(DrawingError, match=DYING[source]):
            draw(next(CHARTS))
        with pytest.raises(RenderError, match="nothing else of the run is lost"):
            html_text(sample_result().shared())
    ended()

    assert draw(next(CHARTS)).width > 0


def test_one_chart_that_cannot_be_drawn_does_not_stop_the_next() -> None:
    with pytest.raises(DrawingError):
        draw({"mark": "no such mark"})

    assert "<" in draw(next(CHARTS)).markup


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and what it was asked for."""
    paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'[{"x": 1}]')

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()


@pytest.mark.parametrize("where", ["{server}/x.json", "x.json", "file://{file}", "{file}"])
def test_a_chart_fetches_nothing(where: str, asked: tuple[str, list[str]], tmp_path: Path) -> None:
    server, paths = asked
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"x": 1}]))
    drawn = dict(next(CHARTS), data={"url": where.format(server=server, file=file)})
    drawn["encoding"] = {"text": {"field": "x"}}
    drawn["mark"] = "text"

    try:
        markup = draw(drawn).markup
    except DrawingError:
        markup = ""

    assert (paths, "text>" in markup) == ([], False)


NEXT_VERSION = """
allowed = None
def configure(*, allowed_base_urls, base_url):
    global allowed
    allowed = (allowed_base_urls, base_url)
def vegalite_to_svg(specification, *, vl_version):
    assert allowed == ([], False), allowed
    return '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>'
"""


def test_version_2_is_told_once_that_nothing_may_be_fetched(tmp_path: Path) -> None:
    (tmp_path / "vl_convert.py").write_text(NEXT_VERSION)
    ended()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        assert [draw(next(CHARTS)).width, draw(next(CHARTS)).height] == [7, 5]
    ended()
