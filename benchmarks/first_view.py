"""What somebody waits for at the first ``audit explore`` of a run: its start, two pages, its end.

``python benchmarks/first_view.py RUN``
"""

from __future__ import annotations

import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import quote, urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import polars as pl

AUDIT = [sys.executable, "-m", "hierarchy_audit"]


def main() -> None:
    """Open the first page, and that of the node that most instances carry below the root."""
    folder = Path(sys.argv[1])
    nodes = pl.read_parquet(folder / "restricted" / "nodes.parquet").sort("support")
    server = subprocess.Popen([*AUDIT, "explore", str(folder)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    try:
        with opener.open(server.stdout.readline().split()[-1]) as first:
            first.read()
        with opener.open(urljoin(first.url, f"node?id={quote(nodes['node'][-2])}")) as second:
            second.read()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
