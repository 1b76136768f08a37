"""Worker process that draws charts: ``python -m audit._reports.charts.chart_worker``.

It reads one Vega-Lite specification per line from standard input and answers each with a line of
JSON on standard output: the SVG, or an error message. It is a process of its own because Vega
aborts the process if it runs out of memory. It imports nothing else of this project, so it starts
fast.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import cache, partial


def main(vega_lite: str) -> int:
    """Answer specifications until the input ends; returns the exit status."""
    answer = os.dup(1)
    os.dup2(2, 1)  # libraries that print notices do not print them into the answers
    sys.stdout = sys.stderr
    with os.fdopen(answer, "wb") as answers:
        for specification in sys.stdin.buffer:
            answers.write(json.dumps(_answer(specification, vega_lite)).encode("ascii") + b"\n")
            answers.flush()
    return 0


def _answer(specification: bytes, vega_lite: str) -> dict[str, str]:
    try:
        source = _converter()(specification.decode("ascii"), vl_version=vega_lite)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"svg": source}


@cache
def _converter() -> Callable[..., str]:
    """What turns a specification into an SVG, and may fetch nothing on the way."""
    import vl_convert

    if hasattr(vl_convert, "configure"):  # from 2.0 on a call cannot forbid it, the process can
        vl_convert.configure(allowed_base_urls=[], base_url=False)
        return vl_convert.vegalite_to_svg
    return partial(vl_convert.vegalite_to_svg, allowed_base_urls=[], show_warnings=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
