"""Reading of policy files; errors name the wrong line."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import (
    ValidationError,
)

from audit.base.errors import PolicyError, first_cases
from audit.base.files import read_text
from audit.policy.policy import THRESHOLDS, Policy


def load_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file, and the table of code dates that it names.

    Raises:
        PolicyError: On invalid TOML, an unknown key, a wrong type or a value outside its range; the
            message names the key.
        InputError: If the table of code dates cannot be read, or is not as required.
    """
    path = Path(path)
    text = read_text(path)
    try:
        stated = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError("a TOML file is required", found=str(error), where=path) from None
    try:
        policy = Policy.model_validate({"name": path.stem, **stated})
    except ValidationError as error:
        unknown = any(e["type"] == "extra_forbidden" and len(e["loc"]) == 1 for e in error.errors())
        keys = f"keys: {', '.join(Policy.model_fields)}"
        raise PolicyError(
            "every key of the policy must be known, and every value be allowed",
            found=first_cases(_described(e["loc"], e["msg"], text) for e in error.errors()),
            where=path,
            hint=keys if unknown else "docs/policy.md lists what each key may be",
        ) from None
    if policy.code_dates is None:
        return policy
    return policy.model_copy(update={"code_dates": policy.code_dates.read(path.parent)})


def _described(key: Sequence[str | int], message: str, text: str) -> str:
    line = line_of(key, text)
    place = f" (line {line})" if line else ""
    return f"{'.'.join(str(part) for part in key)}{place}: {message.removeprefix('Value error, ')}"


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
