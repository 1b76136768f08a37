"""A window onto a run that searches its whole pair table for the pairs of a node.

``python benchmarks/explore_by_scan.py RUN`` serves it as ``audit explore RUN`` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from audit.explorer.application import serve
from audit.explorer.site import Site
from fixtures.scanned_partners import open_scanned

if __name__ == "__main__":
    site = Site(open_scanned(Path(sys.argv[1])))
    serve(site, 0, lambda address: print("Open", address, flush=True))
