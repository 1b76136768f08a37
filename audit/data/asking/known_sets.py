"""Code sets of columns of labels, diagnoses or procedures, and numbers that are no codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from audit.base.errors import InputError, first_cases
from audit.base.plurals import percentage
from audit.base.readings import AskedError
from audit.data.asking.seen import HALF, NEARLY_ALL, Seen
from audit.data.columns import Columns, family
from audit.hierarchies.hierarchy import Hierarchy

_EACH = "as-written"
"""What states that each label is of the code set that it can be of, diagnoses first."""
_CLEARLY, _NEAR = 0.1, 0.02
"""Share that a code set must have more than another, and at most fewer than both together."""


def stated_set(columns: Columns, hierarchy: Hierarchy) -> str:
    """The code set that is stated for all labels, or ``as-written``; empty if none is."""
    integrity = hierarchy.integrity
    tables = {one.partition("-")[0]: one for one in (integrity.tables if integrity else ())}
    words = [one for one in columns.codes if not one.endswith("*")]
    if wrong := [one for one in words if one not in (_EACH, *tables)]:
        raise InputError(
            f"--codes names a code set of the hierarchy {hierarchy.name}, or {_EACH}",
            found=first_cases(wrong),
            hint=f"it has {first_cases(tables)}" if tables else "it has none: leave it out",
        )
    return tables.get(words[-1], _EACH) if words else ""


def sets_of(seen: Seen, columns: Columns) -> tuple[str | None, ...]:
    """The code set of each column of labels, as stated or published, else by its values.

    Columns of one family are of one. None where each label can be of one only.

    Raises:
        AskedError: If two code sets fit alike.
    """
    sets = columns.sets or (None,) * len(columns.label)
    if word := stated_set(columns, seen.nodes.hierarchy):
        return (None if word == _EACH else word,) * len(sets)
    if len(seen.nodes.tables) < 2:
        return sets
    families = dict[str, Counter[str]]()
    for name, of in zip(columns.label, sets, strict=True):
        if of is None:
            families.setdefault(family(name), Counter()).update(seen.labels(name, columns))
    found = {one: _set_of(seen, values, one) for one, values in families.items()}
    return tuple(of or found[family(one)] for one, of in zip(columns.label, sets, strict=True))


def _set_of(seen: Seen, values: Mapping[str, int], name: str) -> str | None:
    """The code set of labels: said by their dots, else the one of which clearly most are."""
    tables = seen.nodes.tables
    may_be = {text: [t for t in tables if seen.nodes.is_complete(text, t)] for text in values}
    if not any(len(of) == len(tables) for of in may_be.values()):
        return None
    dotted = {text: n for text, n in values.items() if "." in text.rstrip(".")}
    is_dotted = 2 * sum(dotted.values()) > sum(values.values())
    values = dotted if is_dotted else values
    shares = {one: seen.share_of(values, one).of_complete for one in tables}
    total = sum(n for text, n in values.items() if may_be[text]) / sum(values.values())
    second, first = sorted(tables, key=lambda one: shares[one])[-2:]
    near = shares[first] >= total - _NEAR
    if shares[first] >= shares[second] + _CLEARLY and near:
        return first
    if is_dotted:
        return None
    said = ", ".join(f"{percentage(share)} {one}" for one, share in shares.items())
    raise AskedError(
        f"whether the labels in {name!r} are {' or '.join(tables)} is not certain",
        found=f"complete codes: {said}, {percentage(total)} of either",
        options={"codes": (_EACH,)} if total >= NEARLY_ALL and not near else {},
        hint=f"--codes {' or '.join((*tables, _EACH))} states it; as written, a number that "
        f"is a code of both is one of {tables[0]}",
    )


def refuse_headings(seen: Seen, values: Mapping[str, int]) -> None:
    """Raise AskedError where most labels are headings, as numbers of other kinds are."""
    shares = [seen.share_of(values, one) for one in seen.nodes.tables]
    headings = max((share.of_headings for share in shares), default=0.0)
    if headings > HALF and max(share.of_complete for share in shares) < NEARLY_ALL:
        words = " or ".join(one.partition("-")[0] for one in seen.nodes.tables)
        raise AskedError(
            f"labels must be codes of {seen.nodes.hierarchy.name}",
            found=f"{percentage(headings)} of them are headings that it divides, as numbers of "
            "another kind, such as DRG or CCS, may be by chance",
            hint=f"--codes {words} reads them as such headings",
        )
