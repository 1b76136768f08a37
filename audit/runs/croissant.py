"""What a run shares of a dataset, as catalogues of data read it.

Croissant (mlcommons.org/croissant/1.0, with its vocabulary for responsible AI) is written of the
shared view alone: each number and sentence is one of ``result.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

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
        "rai:annotationsPerItem": _labels_per_instance(ledger),
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


def _labels_per_instance(ledger: Mapping[str, Any]) -> str:
    mean = ledger["labels_per_instance"]["mean"]
    instances = counted(ledger["instances"], "instances")
    return f"{instances}." if mean is None else f"{instances}; labels on average: {mean:g}."


def _missing(ledger: Mapping[str, Any], rounding: Rounded) -> str:
    """Sentences on rows mapped to nodes, rows refused by reason, and instances without labels."""
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
        file: The file. Where it describes the same dataset already, with ``overwrite`` all that it
            says stays, but for the ``rai:`` keys that are measured now.
        overwrite: Whether an earlier file may be replaced.

    Raises:
        OutputError: If there is a file and ``overwrite`` is False, or it is no description of the
            dataset; if it cannot be written.
    """
    made = croissant(shared, name)
    with replacing(file, overwrite=overwrite) as begun:
        if file.exists():
            earlier = _description(file, name)
            measured = {key: value for key, value in made.items() if key.startswith("rai:")}
            context = {**made["@context"], **earlier["@context"]}
            made = {**made, **earlier, "@context": context, **measured}
        begun.write_bytes(to_json_bytes(made))


def _description(file: Path, name: str) -> _Record:
    """A Croissant description of the dataset of this name, as it stands in a file."""
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(file.read_bytes())
    if (
        not isinstance(found, dict)
        or _CROISSANT not in json.dumps(found.get("conformsTo"))
        or not isinstance(found.get("@context"), dict)
        or found.get("name") != name
    ):
        raise OutputError(
            f"only a Croissant description of the dataset {name!r} is replaced",
            found="something else",
            where=file,
            hint="name another file",
        )
    stated = found["conformsTo"]
    standards = stated if isinstance(stated, list) else [stated]
    return {**found, "conformsTo": [*dict.fromkeys((*standards, _RAI))]}
