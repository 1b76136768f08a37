"""Wording of a report whose data are labels that came with something else: no release stands
beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.chapters.tables import dropped_facts
from reports.words.words import number, typical

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LabelsAlone:
    """How such labels are called.

    Args:
        instance: What an instance is.
        labels: What their labels are; empty where each has one, which is no news.
        title: Title of a report without one of its own.
        row: What a row of the ledger is.
        identity: Facts on the audit that are shown with those of the analysis.
    """

    instance: str
    labels: str
    title: str
    row: str
    identity: tuple[str, ...] = ("Hierarchy", "Normaliser", "Policy", "Smallest count shown")

    def ledger_facts(self, ledger: Mapping[str, Any]) -> Facts:
        """Facts on the labels, in place of those on a release."""
        instances = (f"{self.instance.capitalize()}s", number(ledger["instances"]))
        if not self.labels:
            return (instances, *dropped_facts(ledger))
        labels = ledger["labels_per_instance"]
        each = f"{self.labels.capitalize()} per instance"
        return (
            instances,
            ("Without a label that is a node", number(ledger["instances_without_labels"])),
            (f"{each}, median", typical(labels["median"])),
            (f"{each}, 90th percentile", typical(labels["p90"])),
            *dropped_facts(ledger),
        )


OF_FORMAT: Mapping[str, LabelsAlone] = {
    "attributions": LabelsAlone(
        "explained instance",
        "explained labels",
        "Explanations of labels",
        "A row is one explained label of one instance, counted once however many methods, models "
        "and runs explain it.",
    ),
    "representations": LabelsAlone(
        "tested instance",
        "tested labels",
        "Concepts in representations",
        "A row is one label of one instance that has representations.",
    ),
    "entailment": LabelsAlone(
        "tuple",
        "",
        "Entailment graph",
        "A row is one record of a tuple; its label is the relation.",
        ("Policy", "Smallest count shown"),
    ),
}
"""By the format of the data, those that are such labels."""


def labels_alone(shared: Mapping[str, Any]) -> LabelsAlone | None:
    """How the labels are called, where they are all the data there are; else None."""
    return OF_FORMAT.get(shared["identity"]["data"]["format"])
