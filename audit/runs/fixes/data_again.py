"""The data of a run, read again as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from audit.base.errors import InputError, first_cases
from audit.base.plugins import using
from audit.base.remote import allowing
from audit.data.dataset import LabelDataset
from audit.runs.inputs import read_data, stated_policy
from audit.runs.sealed_run import SealedRun
from audit.runs.settings import Settings


@contextmanager
def _as_then(settings: Settings) -> Iterator[None]:
    """With the plugins and network that a run was made with."""
    with using(settings.plugins), allowing(settings.allow_network):
        yield


def read_again(settings: Settings) -> LabelDataset:
    """The data that settings name."""
    with _as_then(settings):
        return read_data(replace(settings, predictions=None), stated_policy(settings))[0]


def data_of(run: Path, data: str | None = None) -> tuple[Settings, LabelDataset]:
    """The settings and the data of a run; refused where an input is not as it was.

    Args:
        data: Where the data are now, if they moved.
    """
    sealed = SealedRun(run)
    made = None if sealed.manifest is None else sealed.manifest.settings
    if made is None:
        raise InputError(
            "a run that records how it was made is required",
            found="a changed manifest" if sealed.manifest is None else "one made from Python",
            where=run,
        )
    settings = replace(made, dataset=data or made.dataset)
    with _as_then(settings):
        faults = list(sealed.changed_inputs(Path(made.dataset), Path(settings.dataset)))
    labels = None if faults else read_again(settings)
    queried = {one.sha256 for one in sealed.inputs if one.query is not None}
    if labels is None or (queried and labels.digest not in queried):
        raise InputError(
            "the data as they were when the run was made are required",
            found=first_cases(faults) if faults else "a query that gives other rows",
            where=run,
            hint="audit the data as they are now, and decide on that run",
        )
    return settings, labels
