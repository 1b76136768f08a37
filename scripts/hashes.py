"""Write the hashes of every file of each pin in ``constraints.txt``, by which CI installs.

    python scripts/hashes.py

``hashes/test.txt`` has the pins that the tests need, and what builds the package, and
``hashes/extras.txt`` the others, but torch has a file of its own: a wheel of it for CPUs alone, in
the folder of ``PIP_FIND_LINKS``, is allowed too. uv asks the registry that is configured.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS, HASHES = ROOT / "constraints.txt", ROOT / "hashes"
COMPILE = ("pip", "compile", "--quiet", "--universal", "--no-header", "--no-annotate")
PYTHON = ("--python-version", "3.11")


def main() -> int:
    """Write both files."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        subprocess.run([f"{name}/bin/pip", "--quiet", "install", "uv"], check=True)
        uv = f"{name}/bin/uv"
        hashed = _entries(_output(uv, *COMPILE, "--no-deps", "--generate-hashes", str(PINS)))
        build = Path(name) / "build.in"
        build.write_text("hatchling\neditables\n", "utf-8")
        project = (str(ROOT / "pyproject.toml"), "--extra", "test", str(build))
        tested = _output(uv, *COMPILE, *PYTHON, "--constraint", str(PINS), *project)
    names = {_name(line) for line in tested.splitlines() if "!= 'CPython'" not in line}
    if lacking := names - {_name(entry) for entry in hashed}:
        print(f"constraints.txt lacks {', '.join(sorted(lacking))}", file=sys.stderr)
        return 1
    HASHES.mkdir(exist_ok=True)
    files: dict[str, list[str]] = {"test": [], "extras": [], "torch": []}
    for entry in hashed:
        name = _name(entry)
        file = "test" if name in names else "torch" if name == "torch" else "extras"
        files[file].append(_with_local(entry))
    for file, entries in files.items():
        (HASHES / f"{file}.txt").write_text("".join(entries), "utf-8")
    return 0


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _entries(compiled: str) -> Sequence[str]:
    """Each pin with the lines of its hashes."""
    return re.findall(r"^\S.*\n(?:[ ].*\n)*", compiled, re.MULTILINE)


def _name(entry: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[=; ]", entry, maxsplit=1)[0]).lower()


def _with_local(entry: str) -> str:
    """The entry with the hashes of wheels of its version in the folder of ``PIP_FIND_LINKS``."""
    added = (f" \\\n    --hash=sha256:{digest}" for digest in _local(entry))
    return entry.rstrip("\n") + "".join(added) + "\n"


def _local(entry: str) -> Iterator[str]:
    folder = os.environ.get("PIP_FIND_LINKS")
    (version,) = re.findall(r"==([^\s;]+)", entry.partition("\n")[0])[:1]
    for wheel in sorted(Path(folder).glob("*.whl")) if folder else ():
        name, built, *_ = wheel.name.split("-")
        if _name(name) == _name(entry) and built.partition("+")[0] == version:
            yield hashlib.sha256(wheel.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
