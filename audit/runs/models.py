"""What a run keeps of a model, and tells of its predictions."""

from __future__ import annotations

from typing import Any

from audit.alignment.answers import answered
from audit.alignment.measure import ModelMeasurements
from audit.base.errors import InputError
from audit.checks.rules.model_confuses import most_exchanged, most_uneven
from audit.checks.shared.suspects import first_suspects
from audit.measure.measure import Measurements
from audit.results.parts import ModelPart
from audit.results.tables import ANSWERED, BEHAVIOURS


def require_kind(given: object, kind: type, hint: str) -> None:
    """Raise InputError if what a caller gave is neither of the kind nor None."""
    if given is not None and not isinstance(given, kind):
        raise InputError(
            f"{kind.__name__} of audit, or None, is required",
            found=f"{type(given).__module__}.{type(given).__name__}",
            hint=hint,
        )


def model_part(measured: Measurements, model: ModelMeasurements) -> ModelPart:
    """What a run keeps of a model."""
    return ModelPart(
        pair_table=model.pairs,
        metrics=model.metrics,
        absent_metrics=model.metrics_absent,
        beside=model.metrics_beside,
        frames={
            "answered": ANSWERED.frame(
                [answered(measured.hierarchy, model.gold, model.decided, measured.rounding)]
            ),
            "behaviours": BEHAVIOURS.frame(model.behaviours),
            "exchanged_pairs": most_exchanged(measured),
            "exchanged_in_line": most_exchanged(measured, above=True),
            "answers": most_uneven(measured),
            "suspects": first_suspects(measured),
        },
    )


def prediction_ledger(measured: Measurements) -> dict[str, Any] | None:
    """What was read of predictions; None without any."""
    if measured.model is None:
        return None
    predictions, policy = measured.model.predictions, measured.policy
    ledger = predictions.ledger
    return {
        "classes_read": ledger.classes_read,
        "classes_mapped": ledger.classes_mapped,
        "unknown_classes": len(ledger.unknown_classes),
        "instances_matched": ledger.instances_matched,
        "predictions_without_labels": ledger.instances_without_labels,
        "labels_without_predictions": ledger.instances_without_predictions,
        "set_valued": predictions.set_valued,
        "single_label": predictions.single_label,
        "confusion_threshold": policy.confusion_threshold.value,
        "decision_threshold": policy.decision_threshold.value,
    }
