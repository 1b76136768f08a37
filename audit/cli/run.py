"""``audit run``: audit a dataset and write a run; and ``audit demo``, which audits sample data."""

from __future__ import annotations

import json
import os
import shutil
from importlib.resources import as_file, files
from itertools import accumulate
from pathlib import Path
from typing import Annotated
from zipfile import ZipFile

import typer

from audit.base.disk import working_beside
from audit.base.errors import InputError, OutputError
from audit.base.machine import MOST_CORES
from audit.base.settings import LARGE_DATA, MODEL, OUTPUT, Argument, Option
from audit.cli.declared import options_of
from audit.cli.new_run import make_run
from audit.cli.options import AsJson, KeepInstances, NewRun, Quiet, WritePdf
from audit.runs.settings import Settings


def run(
    settings: Settings,
    output: NewRun,
    keep_instances: KeepInstances = False,
    jobs: Annotated[
        int | None,
        Option(
            "Threads to count with; by default one per core.",
            LARGE_DATA,
            metavar="N",
            least=1,
            most=MOST_CORES,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            "TOML file of these options, or pyproject.toml with a table tool.hierarchy-audit.",
            OUTPUT,
            metavar="FILE",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        Option("Earlier run whose settings to use.", OUTPUT, metavar="RUN"),
    ] = None,
) -> None:
    """Audit a dataset and write a run: HTML, PDF, JSON and tables."""
    _use_threads(jobs)
    _refuse_options_of_predictions(settings)
    if settings.master and settings.engine != "spark":
        raise InputError("--master needs --engine spark", found=settings.engine)
    make_run(settings, output, command="run", keep_instances=keep_instances)


def _refuse_options_of_predictions(settings: Settings) -> None:
    of_model = [one for one in options_of(run) if one.option.panel == MODEL]
    stated = [(one, getattr(settings, one.field)) for one in of_model]
    given = [
        one.flags[-1 if value is False else 0]
        for one, value in stated
        if value != one.default and one.option.sets in ("", value)
    ]
    if given and not settings.predictions:
        raise InputError(
            f"{', '.join(given)} can be given only with --predictions", found="no predictions"
        )


def _use_threads(jobs: int | None) -> None:
    """Count with so many threads; only before the libraries that count are loaded."""
    if jobs is not None:
        for name in ("AUDIT_JOBS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(jobs)


_ICD = "--hierarchy icd9cm"
NEXT = (
    ("audit cases audit-run malformed_code:refused --sample 5", "records behind a finding"),
    ("audit fixes audit-run --csv decisions.csv", "what would mend them"),
    ("audit explore audit-run", "the run in a browser, with every table"),
    (f"audit run sample_data/release_1 {_ICD} --out old", "the release before"),
    (f"audit run sample_data/release_2 {_ICD} --reference old --out new", "again, beside it"),
    ("audit compare old new --out changes", "what changed, and why"),
)
"""What can be typed in the folder afterwards, and what each shows."""


def demo(
    folder: Annotated[Path, Argument("Folder to make.", metavar="DIR")] = Path("audit-demo"),
    pdf: WritePdf = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the sample data into a new folder, audit them, and say what to look at next."""
    if folder.exists():
        raise OutputError(
            "a new folder is required",
            found="one that is there",
            where=folder,
            hint="name another one: audit demo DIR",
        )
    with working_beside(folder) as made:
        write_sample_data(made / "sample_data")
        made.rename(folder)
    data = folder / "sample_data"
    make_run(
        Settings(
            dataset=str(data / "release_2"),
            hierarchy="icd9cm",
            predictions=data / "predictions.psv",
        ),
        NewRun(out=folder / "audit-run", pdf=pdf, as_json=as_json, quiet=quiet),
        command="demo",
        finish=None if as_json else lambda: _say_next(folder),
    )


def _say_next(folder: Path) -> None:
    width = max(len(command) for command, _ in NEXT)
    lines = [f"  {command:{width}}  # {shows}" for command, shows in NEXT]
    typer.echo("\n".join(["", f"Open that report. Then, after cd {folder}:", *lines]))


def write_sample_data(folder: Path) -> None:
    """Write the sample data into a new folder: those of the wheel, or of a checkout."""
    with as_file(files("audit.cli") / "sample_data.zip") as packed:
        if packed.exists():
            _unpack(packed, folder)
            return
    checkout = Path(__file__).parents[2] / "sample_data"
    if not checkout.is_dir():
        raise InputError("the sample data are in wheels and checkouts", found="neither")
    shutil.copytree(checkout, folder)


def _unpack(packed: Path, folder: Path) -> None:
    """Write each file as it was; of a table there are the columns, and steps between numbers."""
    with ZipFile(packed) as archive:
        for name in archive.namelist():
            path, content = folder / name.removesuffix(".columns"), archive.read(name)
            if path.name != Path(name).name:
                columns = [[head, *_values(steps)] for head, steps in json.loads(content)]
                rows = (",".join(row) + "\n" for row in zip(*columns, strict=True))
                content = "".join(rows).encode()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _values(steps: str | list[int]) -> list[str]:
    """The cells of a column: the lines of a text, or sums of the steps up to each."""
    return steps.split("\n") if isinstance(steps, str) else list(map(str, accumulate(steps)))
