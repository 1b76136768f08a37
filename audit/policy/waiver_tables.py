"""The waivers of a policy file as text: one is added, changed or taken out, all else stays."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from audit.base.errors import InputError
from audit.policy.statements import Waiver

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}'  # a string of several lines
    r"|\"(?:\\.|[^\"\\])*\"|'[^']*'"  # a string of one line
    r"|\#[^\n]*|\n|[\[{]|[\]}]|[^\s\[\]{}\"'\#]+",
    re.DOTALL,
)
"""A piece of valid TOML: strings and comments are one piece each, whatever brackets they hold."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a file, from its header's line to the end of the last line with a value."""

    start: int
    end: int
    header: str


def text_with(text: str, waiver: Waiver) -> str:
    """A policy file in which a waiver of one finding stands, in place of an earlier one of it.

    Args:
        text: Valid TOML. Every character outside of the table is kept.
        waiver: The waiver; it names a finding.

    Raises:
        InputError: If the text states its waivers otherwise than as tables ``[[waivers]]``.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = line_end.join(["[[waivers]]", *_lines(waiver)])
    stated = _waivers(text)
    place = _place_of(waiver.finding, stated)
    if place is None:
        edited = _appended(text, written, line_end)
        wanted = [*stated, _as_stated(waiver)]
    else:
        table = _tables_of_waivers(text, len(stated))[place]
        last = text[table.start : table.end]
        ended = line_end if last.endswith("\n") else ""
        edited = text[: table.start] + written + ended + text[table.end :]
        wanted = [*stated[:place], _as_stated(waiver), *stated[place + 1 :]]
    return _proved(edited, text, wanted)


def text_without(text: str, finding: str) -> str:
    """A policy file without the waiver that names a finding alone; the text itself has one.

    The reverse of `text_with`: the text is the same, character by character, as before the waiver
    was added.

    Raises:
        InputError: As `text_with`.
    """
    stated = _waivers(text)
    place = _place_of(finding, stated)
    if place is None:
        raise ValueError(f"no waiver names {finding}")
    table = _tables_of_waivers(text, len(stated))[place]
    before, block, after = text[: table.start], text[table.start : table.end], text[table.end :]
    added = r"(?<=\n)\r?\n\Z" if block.endswith("\n") else r"\r?\n\r?\n\Z"
    edited = re.sub(added, "", before) + after if before else re.sub(r"\A\r?\n", "", after)
    return _proved(edited, text, [*stated[:place], *stated[place + 1 :]])


def _appended(text: str, written: str, line_end: str) -> str:
    """The text with a table behind a blank line; its last line is ended only if it was before."""
    if not text:
        return written + line_end
    if text.endswith("\n"):
        return text + line_end + written + line_end
    return text + 2 * line_end + written


def _waivers(text: str) -> list[dict[str, Any]]:
    stated: list[dict[str, Any]] = tomllib.loads(text).get("waivers", [])
    return stated


def _place_of(finding: str | None, stated: list[dict[str, Any]]) -> int | None:
    names = (place for place, waiver in enumerate(stated) if waiver.get("finding") == finding)
    return next(names, None)


def _tables_of_waivers(text: str, expected: int) -> list[_Table]:
    header: dict[str, Any] = {"waivers": [{}]}
    found = [table for table in _tables(text) if tomllib.loads(table.header) == header]
    if len(found) != expected:
        raise _not_in_tables()
    return found


def _not_in_tables() -> InputError:
    return InputError(
        "the waivers of a policy that is edited here must be tables [[waivers]]",
        found="waivers that are stated in another way",
        hint="write each as a table of its own, or edit the file by hand",
    )


def _tables(text: str) -> Iterator[_Table]:
    """Tables of a valid TOML text, in its order."""
    starts: list[int] = []
    heads: list[int] = []
    ends: list[int] = []
    depth, fresh = 0, True
    for token in _TOKEN.finditer(text):
        piece = token[0]
        if piece == "\n":
            fresh = fresh or depth == 0
        elif not piece.startswith("#"):
            if piece == "[" and fresh:
                starts.append(_line_start(text, token.start()))
            depth += (piece in "[{") - (piece in "]}")
            if depth == 0 and len(heads) < len(starts):
                heads.append(token.end())
            ends[len(starts) - 1 :] = [_line_end(text, token.end())] if starts else []
            fresh = False
    for start, head, end in zip(starts, heads, ends, strict=True):
        yield _Table(start, end, text[start:head].strip())


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _proved(edited: str, text: str, waivers: list[dict[str, Any]]) -> str:
    """The edited text, if it says what the text said but for its waivers."""
    wanted = {key: value for key, value in tomllib.loads(text).items() if key != "waivers"}
    if waivers:
        wanted["waivers"] = waivers
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    raise _not_in_tables()


def _as_stated(waiver: Waiver) -> dict[str, Any]:
    return waiver.model_dump(exclude_none=True)


def _lines(waiver: Waiver) -> Iterator[str]:
    for key, value in _as_stated(waiver).items():
        yield f"{key} = {toml_string(value) if isinstance(value, str) else value.isoformat()}"


def toml_string(text: str) -> str:
    r"""A text as a TOML string of one line, everything escaped that is not plainly printed.

    >>> print(toml_string('Say "yes"\n'))
    "Say \"yes\"\n"
    """
    return f'"{"".join(map(_escaped, text))}"'


_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"
