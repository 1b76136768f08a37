"""The models of an audit: one, or two whose predictions of the same instances are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from audit.alignment.measure import ModelMeasurements, branch_exchanges, measure_model
from audit.base.errors import InputError, first_cases
from audit.base.progress import Progress
from audit.checks.shared.exchanged_pairs import most_exchanged, most_uneven
from audit.data.predictions import Predictions, in_one_hierarchy
from audit.measure.measure import Measurements
from audit.results.parts import ModelPart
from audit.results.result import AuditResult
from audit.results.two_models import TwoModels
from audit.runs.compare.model_changes import model_changes
from audit.runs.instances import instance_frame
from audit.runs.refusals import refuse_models


def require_kind(given: object, kind: type, hint: str) -> None:
    """Refuse what is given in place of something else, as from a notebook; None is nothing."""
    if given is not None and not isinstance(given, kind):
        raise InputError(
            f"{kind.__name__} of audit, or None, is required",
            found=f"{type(given).__module__}.{type(given).__name__}",
            hint=hint,
        )


def models_of(predictions: Predictions | Sequence[Predictions] | None) -> tuple[Predictions, ...]:
    """The models, in one hierarchy; of two, each reading says which it is of."""
    if predictions is None:
        return ()
    models = tuple(predictions) if isinstance(predictions, Sequence) else (predictions,)
    for one in models:
        hint = "audit.load_predictions(scores, dataset) makes them"
        require_kind(one, Predictions, hint)
    refuse_models([", ".join(map(str, one.sources)) or one for one in models])
    if len(models) == 2:
        _refuse_apart(*models)
        named = zip(model_names(models), models, strict=True)
        models = tuple(_told(name, model) for name, model in named)
    return in_one_hierarchy(models)


def _refuse_apart(first: Predictions, second: Predictions) -> None:
    if not np.isin(first.rows, second.rows).any():
        raise InputError(
            "two models that are compared must have answered some of the same instances",
            found=f"only {first_cases(first.instances)}, and only {first_cases(second.instances)}",
            hint="audit each by itself",
        )


def _told(name: str, model: Predictions) -> Predictions:
    said = (replace(one, decision=f"{name}: {one.decision}") for one in model.readings)
    return replace(model, readings=tuple(said))


def model_names(models: Sequence[Predictions]) -> tuple[str, str]:
    """What two models are called: their files, with folders where these are called the same."""
    read = [model.sources[0] if model.sources else Path() for model in models]
    for parts in (1, 2):
        first, second = ("/".join(path.parts[-parts:]) for path in read)
        if first and second and first != second:
            return first, second
    return "first model", "second model"


def model_part(measured: Measurements, model: ModelMeasurements) -> ModelPart:
    """What a run keeps of a model."""
    return ModelPart(
        pair_table=model.pairs,
        metrics=model.metrics,
        absent_metrics=model.metrics_absent,
        beside=model.metrics_beside,
        behaviours=model.behaviours,
        exchanges=branch_exchanges(model.predictions.hierarchy, model.exchanges),
        exchanged_pairs=most_exchanged(measured),
        answers=most_uneven(measured),
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


def with_second(
    result: AuditResult,
    measured: Measurements,
    models: Sequence[Predictions],
    *,
    seed: int,
    device: str | None,
    progress: Progress,
) -> AuditResult:
    """The result of an audit of the first model, with the second beside it, if there is one."""
    if len(models) < 2:
        return result
    progress("measuring the second model")
    second, dataset, policy = models[1], measured.loaded.dataset, measured.policy
    model = measure_model(dataset, second, policy, seed=seed, device=device, progress=progress)
    ledger = prediction_ledger(replace(measured, model=model))
    assert ledger is not None, "there is a model"
    part = ModelPart(model.pairs, model.metrics, model.metrics_absent, model.metrics_beside)
    kept = (instance_frame(dataset, one).lazy() for one in models)
    before = replace(result, instances=next(kept))
    after = replace(
        before,
        ledger={**result.ledger, "predictions": ledger},
        parts=(part,),
        instances=next(kept),
    )
    progress("comparing the two models")
    changes = model_changes(before, after, same_data=True)
    assert changes is not None, "there are two models"
    two = TwoModels(model_names(models), ledger, part.metrics, part.beside, changes)
    readings = (one.shown(result.min_cell) for one in second.readings)
    return replace(result, parts=(*result.parts, two), readings=(*result.readings, *readings))
