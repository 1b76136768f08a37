"""What a resource of FHIR R4 says: the codings of a condition or procedure, an encounter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from audit.base.errors import SchemaError

Held: TypeAlias = Mapping[str, Any]
"""An object of JSON."""
_FALSE = ("refuted", "entered-in-error", "not-done")
"""Statuses of what was not so."""
_DATES = ("recordedDate", "onsetDateTime", "performedDateTime")


def visit_of(own: str, one: Held, where: str) -> tuple[str | None, ...]:
    """What an encounter says: its id, first day and class, and whether it was an error."""
    start, kind = _within(one, "period", "start", where), _within(one, "class", "code", where)
    wrong = "left_out" if one.get("status") == "entered-in-error" else None
    return own, start and start[:10], kind, wrong


def codings_of(one: Held, kind: str, where: str) -> Iterator[tuple[str | None, ...]]:
    """The columns but ``place`` and ``class`` of each coding of a resource."""
    verification = _codes(one, "verificationStatus", where) or [_text(one, "status", where)]
    table = "left_out" if set(verification) & set(_FALSE) else None
    encounter, subject = (_reference(one, key, where) for key in ("encounter", "subject"))
    dates = [*(_text(one, key, where) for key in _DATES)]
    dates += [_within(one, key, "start", where) for key in ("performedPeriod", "onsetPeriod")]
    day = next((date[:10] for date in dates if date), None)
    codings = [
        c for code in objects_in(one, "code", where) for c in objects_in(code, "coding", where)
    ]
    words = [_codes(one, key, where) for key in ("category", "clinicalStatus")]
    says = [first[0] if first else None for first in (*words, verification)]
    for coding in codings or [{"display": _within(one, "code", "text", where)}]:
        system, code, display = (_text(coding, key, where) for key in ("system", "code", "display"))
        yield (encounter, code, subject, table, kind, system, display, day, *says, None)


def objects_in(value: Held, key: str, where: str) -> list[Held]:
    """The objects under a key, one or a list of them; raises SchemaError on anything else."""
    held = value.get(key)
    some = held if isinstance(held, list) else [] if held is None else [held]
    if not all(isinstance(one, dict) for one in some):
        required = f"{key!r} must be an object, or a list of objects, as in FHIR R4"
        raise SchemaError(required, found=str(held)[:60], where=where)
    return some


def _text(value: Held, key: str, where: str) -> str | None:
    held = value.get(key)
    if held is not None and not isinstance(held, str):
        raise SchemaError(f"{key!r} must be text, as in FHIR R4", found=str(held)[:60], where=where)
    return held or None


def _within(value: Held, key: str, inner: str, where: str) -> str | None:
    return next((_text(held, inner, where) for held in objects_in(value, key, where)), None)


def _codes(one: Held, key: str, where: str) -> list[str | None]:
    every = [c for held in objects_in(one, key, where) for c in objects_in(held, "coding", where)]
    return [_text(coding, "code", where) for coding in every]


def _reference(one: Held, key: str, where: str) -> str | None:
    """The id that a reference names, without type and address; one of a Bundle as it stands.

    >>> _reference({"subject": {"reference": "http://a.org/Patient/7/_history/1"}}, "subject", "")
    '7'
    """
    said = _within(one, key, "reference", where)
    found = re.fullmatch(r"(?:.*/)?[A-Z]\w+/([^/]+)(?:/_history/.*)?", said or "")
    return found[1] if found else said
