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
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS = ROOT / "constraints.txt"
COMPILE = ("pip", "compile", "--quiet", "--universal", "--no-header", "--no-annotate")


def main() -> int:
    """Write all three files."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        subprocess.run([f"{name}/bin/pip", "--quiet", "install", "uv"], check=True)
        build = Path(name) / "build.in"
        build.write_text("hatchling\neditables\n", "utf-8")
        project = (str(ROOT / "pyproject.toml"), "--extra", "test", str(build))

        def compiled(*words: str) -> str:
            command = (f"{name}/bin/uv", *COMPILE, *words)
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        listed = compiled("--no-deps", "--generate-hashes", str(PINS))
        tested = compiled("--python-version", "3.11", "--constraint", str(PINS), *project)
    needed = {_name(line) for line in tested.splitlines() if "!= 'CPython'" not in line}
    pins = re.findall(r"^\S.*\n(?:[ ].*\n)*", listed, re.MULTILINE)
    if lacking := needed - {*map(_name, pins)}:
        print(f"constraints.txt lacks {', '.join(sorted(lacking))}", file=sys.stderr)
        return 1
    files: dict[str, list[str]] = {"test": [], "extras": [], "torch": []}
    for pin in pins:
        name = _name(pin)
        file = "test" if name in needed else "torch" if name == "torch" else "extras"
        files[file].append(_with_local(pin))
    for file, held in files.items():
        (ROOT / "hashes" / f"{file}.txt").write_text("".join(held), "utf-8")
    return 0


def _name(pin: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[=; ]", pin, maxsplit=1)[0]).lower()


def _with_local(pin: str) -> str:
    """The pin with the hashes of wheels of its version in the folder of ``PIP_FIND_LINKS``."""
    folder = os.environ.get("PIP_FIND_LINKS")
    version = re.findall(r"==([^\s;]+)", pin)[0]
    for wheel in sorted(Path(folder).glob("*.whl")) if folder else ():
        held, built, *_ = wheel.name.split("-")
        if (_name(held), built.partition("+")[0]) == (_name(pin), version):
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            pin = f"{pin.rstrip()} \\\n    --hash=sha256:{digest}\n"
    return pin


if __name__ == "__main__":
    sys.exit(main())
