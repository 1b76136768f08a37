"""Write ``sample_data/`` again, or another folder that is named as the only argument."""

from __future__ import annotations

import sys
from pathlib import Path

from fixtures.sample_data import digests, write_sample_data

SAMPLE_DATA = Path(__file__).parents[1] / "sample_data"


def main() -> None:
    """Write the folder and print what lies in it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE_DATA
    folder.mkdir(parents=True, exist_ok=True)
    write_sample_data(folder)
    for path, digest in digests(folder).items():
        print(f"{digest}  {path}")


if __name__ == "__main__":
    main()
