"""Write ``sample_data/`` again, or another folder that is named as the only argument."""

from __future__ import annotations

import sys
from pathlib import Path

from fixtures.sample_data import digests, write_sample_data

if __name__ == "__main__":
    folder = Path((sys.argv[1:] or [Path(__file__).parents[1] / "sample_data"])[0])
    folder.mkdir(parents=True, exist_ok=True)
    write_sample_data(folder)
    print("\n".join(f"{digest}  {path}" for path, digest in digests(folder).items()))
