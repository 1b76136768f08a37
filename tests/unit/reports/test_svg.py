"""The process that draws charts: its death is told, and the next chart has a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from audit.base.errors import RenderError
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree
from reports.charts import svg
from reports.charts.svg import DrawingError, draw
from reports.html import html_text

BODY = tree("lung heart < body", "asthma other_lung < lung", "attack < heart")
CHART: dict[str, Any] = {"mark": "bar", "data": {"values": [{"x": 1}]}, "encoding": {}}
CHARTS = (dict(CHART, width=width) for width in range(50, 1000))


def ended() -> None:
    """Leave no process that draws, and nothing that was drawn."""
    svg._drawn.cache_clear()
    if svg._drawer.cache_info().currsize:
        svg._drawer().end()
        svg._drawer.cache_clear()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "by SIGKILL"),
        ("import os; print('# no memory'); os.abort()", "by SIGABRT: # no memory"),
        ("import os; os._exit(7)", "with status 7"),
        ("raise RuntimeError('torn')", "RuntimeError: torn"),
        ("print('a notice'); raise MemoryError", "MemoryError"),
    ],
)
def test_a_process_that_dies_is_told_and_replaced(tmp_path: Path, source: str, told: str) -> None:
    (tmp_path / "vl_convert.py").write_text(source)
    ended()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        with pytest.raises(DrawingError, match=told):
            draw(next(CHARTS))
        result = run_audit(labelled(BODY, repeated([(40, ["other_lung"]), (20, ["attack"])])))
        with pytest.raises(RenderError, match="nothing else of the run is lost"):
            html_text(result.shared())
    ended()

    assert draw(next(CHARTS)).width > 0


def test_one_chart_that_cannot_be_drawn_does_not_stop_the_next() -> None:
    with pytest.raises(DrawingError):
        draw({"mark": "no such mark"})

    assert "<" in draw(next(CHARTS)).markup
