"""What a run shares of a dataset, as catalogues of data read it.

Croissant (mlcommons.org/croissant/1.0, with its vocabulary for responsible AI) is written of the
shared view alone: each number and sentence is one of ``result.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from audit.base.disk import replacing
from audit.base.errors import OutputError
from audit.base.plurals import counted
from audit.results.findings import OF_MODEL
from audit.results.order import first_findings
from audit.results.printed import Rounded, in_sentence, mapped_of, none_refused, said_at_head, told
from audit.results.result import to_json_bytes

_Record = dict[str, Any]

_CROISSANT = "http://mlcommons.org/croissant/"
_RAI = f"{_CROISSANT}RAI/1.0"
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated "
    "replace samplingRate separator source subField transform"
)
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _CROISSANT,
    "rai": f"{_CROISSANT}RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


def croissant(shared: Mapping[str, Any], name: str) -> _Record:
    """Describe the dataset of a run in Croissant 1.0, with what responsible AI asks of labels.

    Args:
        shared: The shared view.
        name: What the dataset is called.

    Returns:
        The description. It names no files and no licence, which a run does not know.
    """
    rounding = shared["rounding"]
    ledger, identity = shared["ledger"], shared["identity"]
    hierarchy, tool = identity["hierarchy"], identity["tool"]
    first = [one for check, one in first_findings(shared) if check not in OF_MODEL]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [f"{_CROISSANT}1.0", _RAI],
        "name": name,
        "description": f"Instances labelled with nodes of the hierarchy {hierarchy['name']}.",
        "rai:dataAnnotationProtocol": [
            f"Labels are nodes of the hierarchy {hierarchy['name']}, "
            f"which has {hierarchy['nodes']:,} nodes."
        ],
        "rai:annotationsPerItem": _lengths(ledger),
        "rai:dataCollectionMissingData": " ".join(
            filter(None, (_missing(ledger, rounding), said_at_head(rounding)))
        ),
        "rai:dataPreprocessingProtocol": [
            f"Read as: {one['decision']} ({one['evidence']}; "
            f"{told(one['rows'], one['unit'], rounding)})."
            for one in shared["readings"]
        ],
        "rai:dataAnnotationAnalysis": [
            f"Measured by {tool['name']} {tool['version']}.",
            *(
                f"{one['title']} {one['status'].capitalize()}: {counted(one['total'], 'findings')}."
                for one in _judged(shared)
            ),
        ],
        "rai:dataBiases": [one["statement"] for one in first],
        "rai:dataLimitations": list(dict.fromkeys(one["data_user"] for one in first)),
    }


def _lengths(ledger: Mapping[str, Any]) -> str:
    mean, instances = (
        ledger["labels_per_instance"]["mean"],
        counted(ledger["instances"], "instances"),
    )
    return f"{instances}." if mean is None else f"{instances}; labels on average: {mean:g}."


def _missing(ledger: Mapping[str, Any], rounding: Rounded) -> str:
    every = ledger["refused"].items()
    refused = "; ".join(f"{why} {in_sentence(rows, rounding)}" for why, rows in every)
    return (
        f"Mapped to a node: {mapped_of(ledger, rounding)}. "
        f"Refused: {refused or none_refused(ledger, rounding)}. "
        f"Instances without labels: {in_sentence(ledger['instances_without_labels'], rounding)}."
    )


def _judged(shared: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The checks of the data that applied and did not crash."""
    for check in shared["checks"]:
        if check["status"] not in ("error", "not_applicable") and check["name"] not in OF_MODEL:
            yield check


def write_croissant(
    shared: Mapping[str, Any], name: str, file: Path, *, overwrite: bool = False
) -> None:
    """Write `croissant` to a file.

    Args:
        file: The file. Where it describes the same dataset already, with ``overwrite`` what the
            audit does not say stays: files, licence, authors.
        overwrite: Whether an earlier file may be replaced.

    Raises:
        OutputError: If there is a file and ``overwrite`` is False, or it is no description of the
            dataset; if it cannot be written.
    """
    made = croissant(shared, name)
    with replacing(file, overwrite=overwrite) as begun:
        if file.exists():
            measured = {key: value for key, value in made.items() if key.startswith("rai:")}
            earlier = _description(file, name)
            standards = dict.fromkeys((*earlier["conformsTo"], _RAI))
            context = {**made["@context"], **earlier["@context"]}
            further = {"conformsTo": [*standards], "@context": context}
            made = {**made, **earlier, **further, **measured}
        begun.write_bytes(to_json_bytes(made))


class _Described(BaseModel, extra="allow"):
    """A Croissant description, as far as an audit adds to it."""

    name: str
    context: dict[str, Any] = Field(alias="@context")
    conformsTo: list[str] | str  # noqa: N815 - the name in the file


def _description(file: Path, name: str) -> _Record:
    """A Croissant description of the dataset of this name, as it stands in a file."""
    found = "something else"
    with suppress(ValueError):
        said = _Described.model_validate_json(file.read_bytes())
        standards = [said.conformsTo] if isinstance(said.conformsTo, str) else said.conformsTo
        if _CROISSANT in "".join(standards) and said.name == name:
            return said.model_dump(by_alias=True) | {"conformsTo": standards}
        found = f"one of {said.name!r}"
    raise OutputError(
        f"only a Croissant description of the dataset {name!r} is replaced",
        found=found,
        where=file,
        hint="name another file",
    )
