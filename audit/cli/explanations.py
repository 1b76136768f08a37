"""``audit explanations``: audit what a model's explanations point at."""

from __future__ import annotations

from pathlib import Path

from audit.cli.given_labels import GivenLabels, Judged
from audit.cli.new_run import make_run
from audit.cli.options import KeepInstances, NewRun
from audit.explanations.settings import Explaining
from audit.runs.settings import Settings

_OUTPUT = NewRun(out=Path("explanations-run"))


def explanations(
    labels: GivenLabels,
    explaining: Explaining,
    judged: Judged,
    output: NewRun = _OUTPUT,
    keep_instances: KeepInstances = False,
) -> None:
    """Audit a model's explanations: their agreement with people and with each other."""
    from audit.runs.labels_alone import ATTRIBUTIONS

    data = labels.settings(explaining.attributions, ATTRIBUTIONS)
    settings = Settings(**data, **vars(judged), explaining=explaining)
    make_run(settings, output, command="explanations", keep_instances=keep_instances)
