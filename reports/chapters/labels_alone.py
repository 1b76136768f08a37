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
