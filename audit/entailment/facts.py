"""What a run says of entailment in single numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from audit.base.declared import NONE, Columns, count, setting, text, whole
from audit.entailment.dataset import EntailmentDataset
from audit.entailment.detection import THRESHOLD
from audit.entailment.measure import PARAMETERS, EntailmentMeasurements
from audit.entailment.settings import Entailing

FACTS = Columns(
    count("tuples voted", "Tuples|With votes"),
    count("rows_read refused", "Rows read|Refused", of="rows"),
    whole("files models", "Files|Models"),
    text("kind generation_set restricted"),
    count(
        "relations splits annotators predictions generations ratings",
        "Relations|Splits|Annotators|Predictions|Generated concepts|Ratings",
        of=NONE,
    ),
    setting("parameters threshold"),
)
"""What each fact is."""


def facts_of(
    dataset: EntailmentDataset,
    settings: Entailing,
    entailed: EntailmentMeasurements,
    restricted: Iterable[str],
) -> Mapping[str, Any]:
    """How much was read and measured, and which tables are for the window alone."""
    tuples = dataset.tuples
    return {
        "tuples": tuples.height,
        "rows_read": dataset.rows_read,
        "refused": dict(dataset.refused),
        "files": len(dataset.sources),
        "kind": settings.kind,
        "relations": tuples["relation"].n_unique(),
        "splits": tuples["split"].drop_nulls().n_unique(),
        "voted": tuples["votes"].count(),
        "annotators": dataset.votes["annotator"].n_unique(),
        "generation_set": settings.positives is not None,
        "parameters": PARAMETERS,
        "models": entailed.frames["detection_coverage"]["model"].n_unique(),
        "predictions": dict(entailed.ledgers["predictions"]),
        "threshold": THRESHOLD,
        "generations": entailed.ledgers.get("generations"),
        "ratings": entailed.ledgers.get("ratings"),
        "restricted": list(restricted),
    }
