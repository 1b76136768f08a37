"""Readings: what data were taken to mean where they do not say it themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        return read_as(self.shown(1))

    def shown(self, min_cell: int) -> dict[str, str | int]:
        """Its entry in ``result.json``; a number of rows below ``min_cell`` is a bound."""
        rows = f"<{min_cell}" if 0 < self.rows < min_cell else self.rows
        return {
            "decision": self.decision,
            "evidence": self.evidence,
            "rows": rows,
            "unit": self.unit,
            "option": self.option,
        }


def read_as(reading: Mapping[str, str | int]) -> str:
    """A reading as shown, as one line of a terminal.

    >>> read_as(Reading("each row is one answer", "all rows sum to one", 9, "--sigmoid").shown(1))
    'each row is one answer, since all rows sum to one (9 rows; otherwise: --sigmoid)'
    """
    touched = counted(reading["rows"], str(reading["unit"]))
    said = f"{reading['decision']}, since {reading['evidence']}"
    return f"{said} ({touched}; otherwise: {reading['option']})"


class AskedError(InputError):
    """What data mean must be stated."""


def asked(required: str, readings: Sequence[Reading], where: object = "") -> AskedError:
    """The error that asks the user which reading is meant, where none is clear.

    ``required`` says as a sentence what must be decided; the ``option`` of each reading states it.
    """
    found = "; or ".join(f"{r.decision} ({counted(r.rows, r.unit)})" for r in readings)
    hint = "; ".join(f"{reading.option} if {reading.decision}" for reading in readings)
    return AskedError(required, found=found, where=where, hint=hint)
