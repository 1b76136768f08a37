"""Changes of labels, and the log of those that were made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from audit.base.errors import InputError
from audit.base.files import read_json

Kind: TypeAlias = Literal["replace", "remove", "add"]
CERTAIN = "certain"
"""Who decided what is certain, and was applied without being asked."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one instance's labels.

    Args:
        table: The code set of the label; empty where none is known.
        keep: How many equal labels stay where one is removed.
        by: Who decided, or `CERTAIN`; empty if nobody said so.
    """

    instance: str
    kind: Kind
    label: str = ""
    new: str = ""
    table: str = ""
    keep: int = 0
    finding: str = ""
    by: str = ""


class LoggedFile(BaseModel):
    """Digests of a file that differs in a copy."""

    before: str
    after: str


class Log(BaseModel):
    """The log beside a copy: of which run it is, which files became which, by which changes."""

    schema_version: Literal["1.0"]
    run: str
    changes: tuple[Change, ...]
    files: dict[str, LoggedFile]


def read_log(log: Path) -> Log:
    """A log as it was written."""
    try:
        return Log.model_validate(read_json(log))
    except ValidationError:
        raise InputError(
            "a log as `audit apply` wrote it is required",
            found="another file, or a changed one",
            where=log,
        ) from None
