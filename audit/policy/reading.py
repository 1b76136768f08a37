"""Reading of policy files, in which errors name the wrong line, and the built-in ones."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from audit.base.errors import InputError, PolicyError, first_cases
from audit.base.files import read_text
from audit.base.settings import WITH_POLICY
from audit.policy.policy import THRESHOLDS, Policy
from audit.policy.statements import Waiver


def load_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file, and the table of code dates that it names.

    Args:
        path: The file, or the name of a built-in classification for its policy, whatever file the
            hierarchy is.

    Raises:
        PolicyError: On invalid TOML, an unknown key, a wrong type or a value outside its range; the
            message names the key.
        InputError: If the table of code dates cannot be read, or is not as required.

    >>> import audit
    >>> audit.load_policy("icd9cm").name
    'icd9cm'
    """
    path = Path(path)
    if is_built_in(path):
        return Policy(name=path.name, base=path.name)  # type: ignore[arg-type]
    policy = policy_of(read_text(path), path)
    if policy.code_dates is None:
        return policy
    return policy.model_copy(update={"code_dates": policy.code_dates.read(path.parent)})


def is_built_in(path: Path) -> bool:
    """Whether the name of a built-in classification is meant, and no file of that name."""
    return path.name in WITH_POLICY and not path.exists()


def policy_of(text: str, path: Path) -> Policy:
    """The policy that a TOML text states, without the table of code dates that it names."""
    try:
        stated = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError("a TOML file is required", found=str(error), where=path) from None
    try:
        return Policy.model_validate({"name": path.stem, **stated})
    except ValidationError as error:
        unknown = any(e["type"] == "extra_forbidden" and len(e["loc"]) == 1 for e in error.errors())
        keys = f"{_meant(error)}keys: {', '.join(Policy.model_fields)}"
        raise PolicyError(
            "every key of the policy must be known, and every value be allowed",
            found=first_cases(_described(e["loc"], e["msg"], text) for e in error.errors()),
            where=path,
            hint=keys if unknown else "docs/policy.md lists what each key may be",
        ) from None


def _meant(error: ValidationError) -> str:
    """The key that is most like the first one that is unknown, as a question."""
    unknown = [e["loc"][0] for e in error.errors() if e["type"] == "extra_forbidden"]
    meant = [near for key in unknown for near in get_close_matches(str(key), Policy.model_fields)]
    return f"did you mean {meant[0]}? " if meant else ""


def _described(key: Sequence[str | int], message: str, text: str) -> str:
    line = line_of(key, text)
    place = f" (line {line})" if line else ""
    reason = message.removeprefix("Value error, ")
    reason = reason.replace("Extra inputs are not permitted", "there is no such key")
    return f"{'.'.join(str(part) for part in key)}{place}: {reason}"


def line_of(key: Sequence[str | int], text: str) -> int | None:
    """Number, from 1, of the line of a TOML text that holds the longest prefix of a key's path.

    A number in the path is an index into the tables ``[[name]]`` of the name before it. None if the
    text does not even have the first part.
    """
    lines = text.splitlines()
    at, end, found = 0, len(lines), None
    for before, part in zip(("", *key), key, strict=False):
        if isinstance(part, int):
            places = _matching(lines, rf"\s*\[\[\s*{re.escape(str(before))}\s*\]\]", 0, len(lines))
        else:
            places = _matching(lines, rf"[\s\[]*[\"']?{re.escape(part)}[\"']?\s*[=.\]]", at, end)
        wanted = part if isinstance(part, int) else 0
        if wanted >= len(places):
            break
        at = found = places[wanted]
        if lines[at].lstrip().startswith("["):
            end = min(_matching(lines, r"\s*\[", at + 1, len(lines)), default=len(lines))
    return None if found is None else found + 1


def _matching(lines: Sequence[str], pattern: str, start: int, end: int) -> list[int]:
    return [i for i in range(start, end) if re.match(pattern, lines[i])]


def policy_schema() -> dict[str, Any]:
    """JSON schema of a policy file, with the range and unit of every threshold."""
    schema = Policy.model_json_schema()
    for name, (unit, low, high) in THRESHOLDS.items():
        value = {"type": "number", "minimum": low} | ({} if math.isinf(high) else {"maximum": high})
        schema["properties"][name] |= {"description": unit, "properties": {"value": value}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@cache
def built_in_policy(hierarchy_name: str) -> Policy:
    """The policy of a hierarchy; the default one where it has none of its own."""
    if hierarchy_name not in WITH_POLICY:
        return Policy()
    name = f"{hierarchy_name}.toml"
    return policy_of(files("audit.policy").joinpath("data", name).read_text("utf-8"), Path(name))


def judged_by(stated: Policy, made_with: Policy) -> Policy:
    """What a run is judged by: a key that a file leaves out keeps what the run was made with.

    Waivers are those of the file alone; the smallest count of the run is no part of the policy
    where it is one that holds without being stated.
    """
    usual = made_with.min_cell in [Policy().min_cell_for(persons) for persons in (True, False)]
    kept = {"waivers": (), **({"min_cell": None} if usual else {})}
    return stated.over(made_with.model_copy(update=kept))


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
    """A policy file in which a waiver of one finding stands, in place of an earlier one of it."""
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
        found="waivers that are written in another way",
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
