"""Readings: what data were taken to mean where they do not say it themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from audit.base.errors import InputError
from audit.base.plurals import counted


@dataclass(frozen=True, slots=True)
class Reading:
    """One decision on what data mean, which the user is told and can decide otherwise.

    A decision that follows from what a file says is none.

    Args:
        decision: What was decided, as a clause: ``each row of scores is one answer``.
        evidence: By what, as a clause without counts of a few rows or instances: ``the scores of
            all rows sum to one``.
        rows: Number of rows that it touches; of what ``unit`` names.
        option: What decides otherwise, as it is typed: ``--sigmoid``.
        unit: What is counted, in the plural.
    """

    decision: str
    evidence: str
    rows: int
    option: str
    unit: str = "rows"

    def __str__(self) -> str:
        return read_as(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Its entry in the record of a run."""
        return asdict(self)


def read_as(reading: Mapping[str, str | int | None], few: int = 0) -> str:
    """A reading as one line of a terminal; a count up to ``few`` is written as ``<`` and few + 1.

    >>> read_as(Reading("each row is one answer", "all rows sum to one", 9, "--sigmoid").as_dict())
    'each row is one answer, since all rows sum to one (9 rows; otherwise: --sigmoid)'
    """
    rows = reading["rows"]
    touched = counted(rows if isinstance(rows, int) else None, str(reading["unit"]))
    if few and isinstance(rows, int) and rows <= few:
        touched = f"<{few + 1} {reading['unit']}"
    said = f"{reading['decision']}, since {reading['evidence']}"
    return f"{said} ({touched}; otherwise: {reading['option']})"


class AskedError(InputError):
    """What data mean must be stated.

    Args:
        required: What is not certain, as a sentence.
        found: What was found, where ``screen`` does not show it.
        where: The location.
        hint: What to do where nothing can be offered.
        screen: Lines that show what the data hold, and what else is to be known.
        options: What is offered, by arguments of `audit.load_labels` or options of a hierarchy,
            each in place of what was stated of it; empty if nothing is.
        reads: What the data are with these, which was tried: ``reads 60 instances and ...``.
        ways: What the data may mean, each with the option that states it, where several may fit.
    """

    def __init__(
        self,
        required: str,
        *,
        found: str = "",
        where: object = "",
        hint: str = "",
        screen: str = "",
        options: Mapping[str, Any] | None = None,
        reads: str = "",
        ways: Sequence[Reading] = (),
    ) -> None:
        self.screen, self.options, self.reads = screen, dict(options or {}), reads
        self.command, self.ways = "", ways
        super().__init__(required, found=found, where=where, hint=hint)

    def _lines(self) -> str:
        parts = [InputError._lines(self), self.screen, *map(self._way, self.ways)]
        if self.options and not self.ways:
            offered = f"{self.command} {as_typed(self.options)}".strip()
            parts.append(f"{offered}\n    {self.reads}" if self.reads else offered)
        return "\n\n".join(filter(None, parts))

    def _way(self, way: Reading) -> str:
        """One way as offered: what states it, and below it what it decides, of how many rows."""
        typed = f"{self.command} {way.option}" if way.option.startswith("--") else way.option
        return f"{typed.strip()}\n    {way.decision} ({counted(way.rows, way.unit)})"


def as_typed(options: Mapping[str, Any]) -> str:
    """Arguments of `audit.load_labels` as options of a command.

    >>> as_typed({"id": ("eid", "visit"), "label": "main dx", "missing": "-", "header": False})
    "--id eid,visit --label 'main dx' --missing=- --no-header"
    """
    typed = list[str]()
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            typed.append(option if value else f"--no-{option[2:]}")
            continue
        values = [str(value)] if isinstance(value, str | int) else [*map(str, value)]
        for one in [",".join(values)] if name == "id" else values:
            plain = re.fullmatch(r"[\w@%+=:,./-][\w@%+=:,./#-]*", one, re.ASCII)
            typed.append(f"{option}{'=' if one[:1] == '-' else ' '}{one if plain else quote(one)}")
    return " ".join(typed)


def asked(
    required: str,
    readings: Sequence[Reading],
    where: object = "",
    options: Mapping[str, Any] | None = None,
) -> AskedError:
    """The error that asks the user which reading is meant, where none is clear.

    ``required`` says as a sentence what must be decided; the ``option`` of each reading states it.
    ``options`` are those that the first was tried with; the error keeps them, and what it `reads`.
    """
    told = [f"{one.decision} ({counted(one.rows, one.unit)})" for one in readings[:1] if options]
    reads = "".join(told)
    return AskedError(required, where=where, options=options, reads=reads, ways=readings)
