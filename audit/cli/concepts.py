"""``audit concepts``: test whether representations hold the concepts of labels."""

from __future__ import annotations

from pathlib import Path

from audit.cli.given_labels import GivenLabels, Judged
from audit.cli.new_run import make_run
from audit.cli.options import NewRun
from audit.concepts.settings import Testing
from audit.runs.settings import PredictionsFile, Settings

_OUTPUT = NewRun(out=Path("concepts-run"))


def concepts(
    labels: GivenLabels,
    testing: Testing,
    *,
    predictions: PredictionsFile = None,
    judged: Judged,
    output: NewRun = _OUTPUT,
) -> None:
    """Test whether a model's representations hold the concepts of its labels."""
    from audit.runs.labels_alone import REPRESENTATIONS

    data = labels.settings(testing.representations, REPRESENTATIONS, predictions=predictions)
    settings = Settings(**data, **vars(judged), testing=testing)
    make_run(settings, output, command="concepts")
