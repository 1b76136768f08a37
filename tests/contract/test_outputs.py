"""No command replaces what it reads, whichever option names the place that it writes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.doors import command
from fixtures.registered import COMMANDS, Argument, Declared, options_of

EVERY: dict[tuple[str, ...], Callable[..., None]] = {
    **{(name,): function for name, function, *_ in COMMANDS}
}
WRITING = [
    pytest.param(words, one, id=f"{' '.join(words)} {one.flags[0]}")
    for words, function in EVERY.items()
    for one in options_of(function)
    if one.option.writes
]


@pytest.mark.parametrize(("words", "written"), WRITING)
@pytest.mark.parametrize("place", ["same", "around", "within a run"])
def test_nothing_that_is_read_is_replaced(
    words: tuple[str, ...], written: Declared, place: str, tmp_path: Path
) -> None:
    given = tmp_path / "folder" / "given"
    given.mkdir(parents=True)
    (given / "manifest.json").write_text("{}")
    out = {"same": given, "around": given.parent, "within a run": given / "new"}[place]
    others = [one for one in options_of(EVERY[words]) if one.name != written.name]
    needed = [one for one in others if one.required or isinstance(one.option, Argument)]
    arguments = [str(given) for one in needed if isinstance(one.option, Argument)]
    options = [
        text
        for one in needed
        if not isinstance(one.option, Argument)
        for text in (one.flags[0], str(given))
    ]

    done = command(*words, *arguments, *options, written.flags[0], out)

    assert done.exit_code == 2
    assert f"{written.flags[0]} must be outside of" in " ".join(done.output.split())
    assert (given / "manifest.json").read_text() == "{}"
    assert [path.name for path in given.iterdir()] == ["manifest.json"]


def test_two_outputs_are_two_places(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    both = ["--csv", str(tmp_path / "a"), "--xlsx", str(tmp_path / "a" / "b.xlsx")]

    done = command("export", tmp_path / "run", *both)

    assert done.exit_code == 2
    assert "--xlsx must be outside of --csv" in " ".join(done.output.split())
