"""Reading of policy files, in which errors name the wrong line, and the built-in ones."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from audit.base.errors import PolicyError, first_cases
from audit.base.files import read_text
from audit.base.settings import WITH_POLICY
from audit.policy.policy import THRESHOLDS, Policy
from audit.policy.statements import Threshold


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
    if path.name in WITH_POLICY and not path.exists():
        return Policy(name=path.name, base=path.name)  # type: ignore[arg-type]
    policy = policy_of(read_text(path), path)
    if policy.code_dates is None:
        return policy
    return policy.model_copy(update={"code_dates": policy.code_dates.read(path.parent)})


def policy_of(text: str, path: Path) -> Policy:
    """The policy that a TOML text states, its code dates unread; PolicyError if it is invalid."""
    try:
        stated = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError("a TOML file is required", found=str(error), where=path) from None
    try:
        return Policy.model_validate({"name": path.stem, **stated})
    except ValidationError as error:
        raise PolicyError(
            "every key of the policy must be known, and every value be allowed",
            found=first_cases(
                _described(e["loc"], e["type"], e["msg"], text) for e in error.errors()
            ),
            where=path,
            hint=f"{_meant(error)}docs/policy.md lists the keys, and what each may be",
        ) from None


def _meant(error: ValidationError) -> str:
    """The key that is most like the first one that is unknown, as a question."""
    known = (*Policy.model_fields, *Threshold.model_fields)
    unknown = [e["loc"][-1] for e in error.errors() if e["type"] == "extra_forbidden"]
    meant = [near for key in unknown for near in get_close_matches(str(key), known)]
    return f"did you mean {meant[0]}? " if meant else ""


def _described(key: Sequence[str | int], kind: str, message: str, text: str) -> str:
    """An error of one key as a clause: the key, its line where the text has it, and the reason."""
    line, name = line_of(key, text), ".".join(map(str, key))
    reason = message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        reason = "there is no such key"
    elif kind == "missing":
        reason = "it is required"
    elif kind == "model_type":
        reason = f"a table [{name}] is required"
    return f"{name}{f' (line {line})' if line else ''}: {reason}"


def line_of(key: Sequence[str | int], text: str) -> int | None:
    """Number, from 1, of the line of a TOML text that holds the longest prefix of a key's path.

    A number in the path is an index into the tables ``[[name]]`` of the name before it. None if the
    text does not even have the first part.
    """
    lines = text.splitlines()
    at, end, found = 0, len(lines), None
    for before, part in zip(("", *key), key, strict=False):
        if isinstance(part, int):
            places = _matching_lines(
                lines, rf"\s*\[\[\s*{re.escape(str(before))}\s*\]\]", 0, len(lines)
            )
        else:
            places = _matching_lines(
                lines, rf"[\s\[]*[\"']?{re.escape(part)}[\"']?\s*[=.\]]", at, end
            )
        wanted = part if isinstance(part, int) else 0
        if wanted >= len(places):
            break
        at = found = places[wanted]
        if lines[at].lstrip().startswith("["):
            end = min(_matching_lines(lines, r"\s*\[", at + 1, len(lines)), default=len(lines))
    return None if found is None else found + 1


def _matching_lines(lines: Sequence[str], pattern: str, start: int, end: int) -> list[int]:
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
