"""What is stated of events of persons, and the question which of their codes are labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from audit.base.errors import InputError, first_cases
from audit.base.readings import AskedError, Reading, as_typed, asked
from audit.base.table import Table
from audit.data.columns import Columns
from audit.data.labels import Nodes
from audit.hierarchies.coding import VERSIONS

_OFFERED = 4
"""Largest number of vocabularies, or families of codes, that a question offers."""


@dataclass(frozen=True)
class Wanted:
    """What the user states of events.

    Args:
        columns: Columns, as stated.
        nodes: The nodes that labels are mapped to.
        system: Code system of FHIR, or a pattern of such.
        vocabulary: Vocabulary of OMOP.
    """

    columns: Columns
    nodes: Nodes
    system: str = ""
    vocabulary: str = ""

    def refuse_unused(self, table: Table) -> None:
        """Raise InputError if a system is stated and data are no FHIR, or a vocabulary: no OMOP."""
        stated, own = self.system or self.vocabulary, self.nodes.hierarchy.name
        used = {"fhir": self.system, "omop": self.vocabulary}.get(table.layout)
        if stated and not used and own.lower() != stated.lower():  # as that of OMOP is called
            required = "--system is for FHIR alone, --vocabulary for OMOP alone"
            raise InputError(required, found="other data", where=table)

    def told_of_days(self, rows: int, visit: str) -> Iterator[Reading]:
        """What is told of so many rows without a visit, whose column is named."""
        if rows and not self.columns.id:
            said = "codes of a person on one day are an instance"
            yield Reading(said, "they name no visit", rows, f"--id {visit}")


def code_set(text: str) -> str | None:
    """The code set that the name of a vocabulary says; None if it is none of ICD.

    >>> code_set("DIAGNOSIS//ICD//9//"), code_set("ICD10PCS/"), code_set("SNOMED")
    ('diagnoses', 'procedures-10', None)
    >>> code_set("http://hl7.org/fhir/sid/icd-10")
    'icd-10'
    """
    said = re.sub("[^a-z0-9]", "", text.lower())
    version = re.search("icd(?:v|o)?0?(9|10)", said)
    if version is None or "icdo" in said:
        return None
    tenth = "-10" * (version[1] == "10")
    if re.search("proc|pcs|cmsgov", said):
        return f"procedures{tenth}"
    return f"diagnoses{tenth}" if re.search("diag|(9|10)cm", said) else VERSIONS[version[1]]


def meant(
    rows: Mapping[str, int], nodes: Mapping[str, int], stated: str, option: str, where: object
) -> list[str]:
    """The systems or vocabularies that fit a stated pattern, whatever its case, or the only one.

    Raises:
        InputError: If none fits; AskedError if nothing is stated of several.
    """
    fitting = [one for one in rows if fnmatchcase(one.lower(), stated.lower() or "*")]
    if stated and not fitting:
        required = f"a {option} that the data have is required"
        raise InputError(required, found=f"{stated}; they have {first_cases(rows)}", where=where)
    if not stated and len(rows) > 1:
        raise which(f"which {option} is meant", rows, nodes, (option, "{}"), where)
    return fitting


def which(
    decided: str,
    rows: Mapping[str, int],
    nodes: Mapping[str, int],
    option: tuple[str, str],
    where: object,
) -> AskedError:
    """The question which name is meant: one of those most of whose rows are nodes, else of all.

    ``option`` is the argument that states one, and its format.
    """
    held = {name: n for name, n in nodes.items() if 2 * n >= rows[name]}
    first = [name for name, _ in Counter(held or rows).most_common(_OFFERED)]
    typed = {one: as_typed({option[0]: option[1].format(one)}) for one in first}
    offers = [Reading(f"labels are of {one!r}", "", rows[one], typed[one]) for one in first]
    return asked(f"it must be stated {decided}", offers, where)
