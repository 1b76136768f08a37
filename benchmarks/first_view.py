"""What somebody waits for at the first ``audit explore`` of a run: its start, two pages, its end.

``python benchmarks/first_view.py RUN``
"""

from __future__ import annotations

import signal
import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import quote, urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import polars as pl

AUDIT = [sys.executable, "-c", "from audit.cli.app import app; app()"]


def main() -> None:
    """Open the first page, and that of the node that most instances carry below the root."""
    folder = Path(sys.argv[1])
    nodes = pl.read_parquet(folder / "restricted" / "nodes.parquet").sort("support")
    server = subprocess.Popen([*AUDIT, "explore", str(folder)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split()[-1]
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    for page in (address, urljoin(address, f"/node?id={quote(nodes['node'][-2])}")):
        with opener.open(page) as answer:
            answer.read()
    server.send_signal(signal.SIGINT)
    server.wait()


if __name__ == "__main__":
    main()
