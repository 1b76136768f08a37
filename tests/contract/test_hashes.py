"""CI installs files by their hashes: each pin has some, in one of the two lists, and no address."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(.*\n(?:[ ].*\n)*)", re.MULTILINE)


def test_each_pin_has_its_hashes_in_one_list() -> None:
    pins = {found[:2] for found in PIN.findall((ROOT / "constraints.txt").read_text("utf-8"))}
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "hashes").iterdir())]
    listed = [found for text in texts for found in PIN.findall(text)]

    assert {(name.lower(), version) for name, version, _ in listed} == {
        (name.lower().replace("_", "-"), version) for name, version in pins
    }
    assert len(listed) == len({found[:2] for found in listed})
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", hashes) for *_, hashes in listed)
    assert "//" not in "".join(texts)


def test_ci_installs_both_lists_before_anything_else() -> None:
    commands = (ROOT / ".ci" / "run").read_text("utf-8")

    assert "--require-hashes" in commands
    assert commands.index("\nhashed test\n") < commands.index("\nmake demo\n")
    before = commands.partition("make .venv/.extras")[0]
    assert "\n    hashed extras\n" in before
    assert "\n    hashed torch " in before
