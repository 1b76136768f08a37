"""The command line: the only file that prints, and the only one that knows of reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import AuditError, InputError, RenderError
from audit.base.plurals import counted
from audit.base.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import RenderableType

    from audit.results.result import AuditResult
    from audit.runs.seal_key import SealKey

app = typer.Typer(
    name="audit",
    help="Tell whether a dataset uses a label hierarchy the way its authors meant it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

SealKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--seal-key", metavar="FILE", help="Key for digests of data, of 16 bytes or more."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Go on with a run that is not as it was sealed.")
]

READ_ENOUGH = 141
"""Exit status where whoever reads the output stopped reading: that of other programs then."""


class FailOn(StrEnum):
    """Severity from which findings end in exit status 1."""

    never = "never"
    error = "error"
    warning = "warning"


class Device(StrEnum):
    """Where PyTorch counts."""

    cpu = "cpu"
    cuda = "cuda"


class Engine(StrEnum):
    """What counts."""

    memory = "memory"
    stream = "stream"
    spark = "spark"


class Unlisted(StrEnum):
    """What becomes of labels that the hierarchy lacks."""

    refuse = "refuse"
    hang = "hang"


class Listed(StrEnum):
    """What ``audit list`` can list."""

    hierarchies = "hierarchies"
    formats = "formats"
    checks = "checks"
    metrics = "metrics"


@app.command()
def run(
    dataset: Annotated[Path, typer.Argument(help="File or folder of labels.")],
    hierarchy: Annotated[
        str, typer.Option(help="Name of a built-in hierarchy, or a hierarchy file.")
    ],
    format: Annotated[str | None, typer.Option(help="Format of the dataset; else found.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of the instance id.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of the group, e.g. patient.")] = None,
    split: Annotated[str | None, typer.Option(help="Column of the split, e.g. train/test.")] = None,
    strata: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Column that parts the instances; may be repeated."),
    ] = None,
    titles: Annotated[
        list[Path] | None, typer.Option(help="Dictionary of code titles; may be repeated.")
    ] = None,
    relations: Annotated[
        list[str] | None, typer.Option(help="OBO relations that count beside is_a.")
    ] = None,
    unlisted: Annotated[
        Unlisted | None,
        typer.Option(help="Labels that the hierarchy lacks; a file refuses them unless told."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Go on where most labels are no nodes.")
    ] = False,
    classes: Annotated[
        Path | None, typer.Option(help="Names of a matrix's columns, a name a line.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="A model's predictions of the same instances.")
    ] = None,
    softmax: Annotated[bool, typer.Option("--softmax", help="Predictions are logits.")] = False,
    sigmoid: Annotated[
        bool, typer.Option("--sigmoid", help="Predictions are logits, one a node.")
    ] = False,
    single_label: Annotated[
        bool, typer.Option("--single-label", help="Each instance has one answer.")
    ] = False,
    device: Annotated[
        Device | None, typer.Option(help="Count pairs of scores with PyTorch, there.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Policy file (TOML).")] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Earlier run that findings are known from.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("audit-run"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run.")] = False,
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Write report.pdf.")] = True,
    min_cell: Annotated[
        int | None, typer.Option(min=1, help="Smallest count shown; 11 for persons, else 1.")
    ] = None,
    keep_instances: Annotated[
        bool, typer.Option("--keep-instances", help="Keep each instance, for `audit show`.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the resampling behind intervals.")] = 0,
    engine: Annotated[
        Engine | None, typer.Option(help="What counts: all in memory, batches of a file, or Spark.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Count in batches, within it, e.g. 4GB.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a count in batches that was interrupted.")
    ] = False,
    add_to: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Counted run to add the dataset's counts to.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Where Spark runs; else as it is set up.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Threads that count; else one a core.")
    ] = None,
    seal_key: SealKeyFile = None,
    force: Force = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit 1 on findings of this severity or above.")
    ] = FailOn.never,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine summary.")] = False,
) -> None:
    """Audit a dataset and leave a run: HTML, PDF, JSON and tables."""
    with _told():
        from audit.runs.folder import refuse_occupied, seal, write_tables, writing_run

        started = datetime.now(UTC)
        refuse_occupied(out, overwrite=overwrite)
        _refuse_options_of_predictions(predictions, softmax, sigmoid, single_label, device)
        counting = _engine(engine, memory, resume, add_to, master)
        key = _key(seal_key)
        forced = _broken([run for run in (reference, add_to) if run], None, force)
        _use_threads(jobs)
        with _progress() as progress:
            progress("starting")
            from audit.checks.judging import judging_date
            from audit.cli.sizes import size_of
            from audit.runs.make import audited, keeping_count
            from audit.runs.seal_key import with_keyed_data
            from audit.runs.settings import Settings

            settings = Settings(
                dataset=dataset,
                hierarchy=hierarchy,
                format=format,
                id=id,
                label=label,
                group=group,
                split=split,
                strata=tuple(strata or ()),
                titles=tuple(titles or ()),
                relations=tuple(relations or ()),
                unlisted=unlisted.value if unlisted else None,
                anyway=anyway,
                classes=classes,
                predictions=predictions,
                transform="softmax" if softmax else "sigmoid" if sigmoid else None,
                single_label=single_label,
                device=device.value if device else None,
                policy=policy,
                min_cell=min_cell,
                reference=reference,
                seed=seed,
                today=judging_date(),
                engine=counting.value,
                memory=None if memory is None else size_of(memory),
                master=master,
                add_to=add_to,
            )
            with keeping_count(out, settings.engine) as checkpoint, _going_on(checkpoint):
                made = audited(
                    settings,
                    settings.stated_policy(),
                    settings.reference_run(),
                    keep_instances=keep_instances,
                    checkpoint=checkpoint,
                    resume=resume,
                    progress=progress,
                )
                result = with_keyed_data(made.result, key)
                with writing_run(out, overwrite=overwrite) as folder:
                    with _rendering(result, folder, pdf, progress) as unrendered:
                        progress("writing tables")
                        write_tables(result, folder)
                        made.keep(folder)
                    progress("sealing")
                    seal(
                        folder,
                        result,
                        command=["audit", *sys.argv[1:]],
                        started=started,
                        settings=settings.model_dump(mode="json"),
                        key=key,
                        forced=forced,
                    )
        _summarise(result, out, unrendered, as_json=as_json)
        raise typer.Exit(_exit_status(result, fail_on, unrendered))


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Write report.pdf.")] = True,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Render the reports of a run again, without recounting."""
    with _told():
        from audit.runs.folder import read_run, replacing_reports

        forced = _broken([run], _key(seal_key), force)
        result = read_run(run)
        with (
            _progress() as progress,
            replacing_reports(run, forced) as folder,
            _rendering(result, folder, pdf, progress) as unrendered,
        ):
            pass
        typer.echo(f"Report: {run / 'report.html'}")
        _tell_unrendered(unrendered)
        raise typer.Exit(3 if unrendered else 0)


@app.command()
def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    policy: Annotated[Path, typer.Option(help="Policy file (TOML).")],
    reference: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Earlier run that findings are known from.")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Write report.pdf.")] = True,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit 1 on findings of this severity or above.")
    ] = FailOn.never,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine summary.")] = False,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Judge a run again by another policy, without recounting."""
    with _told():
        from audit.checks.judging import judging_date
        from audit.runs.folder import judging_run, read_run
        from audit.runs.seal import refuse_lost_key
        from audit.runs.seal_key import with_keyed_data
        from audit.runs.settings import Judging

        with _progress() as progress:
            judging = Judging(policy=policy, reference=reference, today=judging_date())
            progress("reading the run")
            key = _key(seal_key)
            before = [reference] if reference else []
            forced = _broken([run], key, force) + _broken(before, None, force)
            found = read_run(run)
            refuse_lost_key(run, key, forced=force)
            progress("judging")
            result = with_keyed_data(judging.judge(found), key)
            with (
                judging_run(
                    run,
                    result,
                    command=["audit", *sys.argv[1:]],
                    judging=judging.model_dump(mode="json"),
                    key=key,
                    forced=forced,
                ) as folder,
                _rendering(result, folder, pdf, progress) as unrendered,
            ):
                pass
        _summarise(result, run, unrendered, as_json=as_json)
        raise typer.Exit(_exit_status(result, fail_on, unrendered))


@app.command()
def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Make the audit again from its inputs.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Where the dataset lies now, with --recompute.")
    ] = None,
    seal_key: SealKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell whether a run is as it was sealed, agrees with itself and can be made again."""
    with _told():
        if data is not None and not recompute:
            raise InputError("--data goes with --recompute", found="--data alone")
        with _progress() as progress:
            progress("verifying")
            from audit.runs.verify import verify_run

            verdicts = verify_run(run, recompute=recompute, data=data, key=_key(seal_key))
        holds = all(verdict.outcome != "does not hold" for verdict in verdicts)
        if as_json:
            told = {"run": str(run), "holds": holds, "verdicts": [asdict(v) for v in verdicts]}
            _print_json(told)
        else:
            from audit.cli import terminal

            _print(terminal.verdicts(verdicts))
        raise typer.Exit(int(not holds))


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Folder of the earlier run.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Folder of the later run.")],
    out: Annotated[Path, typer.Option(help="Folder of the comparison.")] = Path("audit-comparison"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier comparison.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine summary.")] = False,
    force: Force = False,
) -> None:
    """Tell what changed between two runs, and why."""
    with _told():
        from audit.runs.compare import COMPARISON, HTML, compare_runs, writing_comparison
        from audit.runs.folder import read_run, refuse_occupied

        started = datetime.now(UTC)
        refuse_occupied(out, overwrite=overwrite, kind=COMPARISON)
        with _progress() as progress:
            progress("comparing")
            forced = _broken([old, new], None, force)
            comparison = compare_runs(read_run(old), read_run(new))
            shared = comparison.shared()
            with writing_comparison(
                comparison,
                shared,
                out,
                runs=(old, new),
                command=["audit", *sys.argv[1:]],
                started=started,
                overwrite=overwrite,
                forced=forced,
            ) as folder:
                progress("writing the report")
                unrendered = _render_comparison(shared, folder / HTML)
        from audit.cli import terminal

        if as_json:
            _print_json(terminal.machine_comparison(shared, out, unrendered))
        else:
            _print(terminal.comparison(shared))
            typer.echo(f"Report: {out / HTML}")
        _tell_unrendered(unrendered)
        raise typer.Exit(3 if unrendered else 0)


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run made with --keep-instances.")],
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="Id of an instance.")],
    least: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out nodes below this share of the root.")
    ] = 0.01,
    force: Force = False,
) -> None:
    """Draw the weighted DAG of one instance: its labels, and its predictions beside them."""
    with _told():
        from audit.runs.instances import read_instance

        _broken([run], None, force)
        for title, dag in read_instance(run, instance).items():
            typer.echo(f"{title} of {instance}\n{dag.tree(least=least)}\n")


@app.command()
def cases(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    finding: Annotated[
        str | None,
        typer.Argument(metavar="FINDING", help="Id of a finding; else all are listed."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Draw N cases of a finding at random.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the drawing.")] = 0,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the cases as CSV instead.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier FILE.")
    ] = False,
    force: Force = False,
) -> None:
    """Tell the instances behind a finding of a run, or how many are behind each."""
    with _told():
        from audit.cli import terminal
        from audit.runs.case_lists import cases_of, drawn, listed, write_csv
        from audit.runs.folder import read_run

        if sample and finding is None and csv is None:
            raise InputError("--sample goes with FINDING or --csv", found="neither")
        if overwrite and csv is None:
            raise InputError("--overwrite goes with --csv", found="--overwrite alone")
        _broken([run], None, force)
        result = read_run(run)
        found = cases_of(result, finding)
        if sample:
            found = drawn(found, sample, seed)
        if csv is not None:
            write_csv(found, csv, overwrite=overwrite)
            typer.echo(f"Cases: {csv}")
        elif finding is None:
            _print(terminal.cases(listed(result)))
        else:
            _print_cases(finding, found.collect(engine="streaming")["instance"].to_list())


def _print_cases(finding: str, instances: list[str]) -> None:
    """Print ids, one a line; a terminal is told how many they are, and obeys nothing in them."""
    if sys.stderr.isatty():
        typer.echo(f"{counted(len(instances), 'instances')} behind {finding}", err=True)
    if instances:
        from audit.cli.terminal import told

        lines = map(told, instances) if sys.stdout.isatty() else instances
        _write("\n".join(lines))


@app.command()
def preference(
    predictions: Annotated[Path, typer.Argument(help="Token scores of each question.")],
    hierarchy: Annotated[
        str, typer.Option(help="WordNet dict folder, or a hierarchy file with words as titles.")
    ],
    questions: Annotated[Path, typer.Option(help="Questions in the S-TEST layout.")],
    relation: Annotated[
        str | None, typer.Option(help="hypernym or holonym; else as the questions' predicate says.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Of accuracy among the k highest tokens.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell which answers a language model prefers: specific or general, correct or related."""
    with _told(), _progress() as progress:
        from audit.alignment.preference import run_preference

        progress("comparing")
        result = run_preference(predictions, questions, hierarchy, relation=relation, k=k)
    if as_json:
        _print_json(result.to_dict())
    else:
        from audit.cli import terminal

        _print(terminal.preference(result))


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")]) -> None:
    """List the built-in hierarchies, the formats, the checks or the metrics."""
    from audit.cli import terminal

    headings = ("name", "kind", "what it is") if what is Listed.formats else ("name", "what")
    _print(terminal.listed(headings, _listed(what)))


def _listed(what: Listed) -> Iterator[tuple[str, ...]]:
    if what is Listed.checks:
        from audit.checks import ALL_CHECKS

        yield from ((check.name, check.title) for check in ALL_CHECKS)
        return
    if what is Listed.metrics:
        from audit.alignment.metrics import METRICS

        yield from ((metric.name, metric.title) for metric in METRICS)
        return
    from audit.data import formats as loaders
    from audit.hierarchies import reading as hierarchies

    if what is Listed.hierarchies:
        yield from ((known.name, known.title) for known in hierarchies.BUILT_IN)
        return
    yield from ((known.name, "labels", known.title) for known in loaders.FORMATS)
    yield from ((known.name, "predictions", known.title) for known in loaders.PREDICTION_FORMATS)
    readers = (*hierarchies.FORMATS, *hierarchies.FOLDERS)
    yield from ((known.name, "hierarchy", known.title) for known in readers)


@contextmanager
def _told() -> Iterator[None]:
    """Tell a user's mistake in one message and end with its exit status."""
    try:
        yield
    except AuditError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(error.exit_status) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(READ_ENOUGH) from None
    except OSError as error:
        typer.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """What steps are told to: shown on standard error while they run, on a terminal only."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import Progress as Live

    from audit.cli.terminal import following, progress_columns

    console = Console(stderr=True)
    with Live(*progress_columns(), console=console, transient=True) as live:
        yield following(live)


def _print(shown: RenderableType) -> None:
    """Print to standard output, no wider than can be read, without blanks at the ends of lines."""
    from rich.console import Console

    from audit.cli.terminal import WIDEST

    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDEST)
    with console.capture() as captured:
        console.print(shown)
    _write("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _write(text: str) -> None:
    """Write lines to standard output, with what it cannot hold replaced."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    typer.echo(text.encode(encoding, "replace").decode(encoding))


def _print_json(told: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(told, ensure_ascii=False, indent=1))


def _key(file: Path | None) -> SealKey | None:
    from audit.runs.seal_key import read_key

    return read_key(file) if file else None


def _broken(runs: list[Path], key: SealKey | None, force: bool) -> tuple[str, ...]:
    """What is broken of runs that are about to be read, told where that is forced."""
    if not runs:
        return ()
    from audit.runs.seal import broken_of

    broken = broken_of(runs, key, forced=force)
    for fault in broken:
        typer.echo(f"In spite of: {fault}", err=True)
    return broken


def _refuse_options_of_predictions(
    predictions: Path | None,
    softmax: bool,
    sigmoid: bool,
    single_label: bool,
    device: Device | None,
) -> None:
    asked: dict[str, object] = {"--softmax": softmax, "--sigmoid": sigmoid}
    asked |= {"--single-label": single_label, "--device": device}
    given = [option for option, on in asked.items() if on]
    if given and predictions is None:
        raise InputError(f"{', '.join(given)} goes with --predictions", found="no predictions")
    if softmax and sigmoid:
        raise InputError("--softmax or --sigmoid may be given", found="both")


def _engine(
    engine: Engine | None,
    memory: str | None,
    resume: bool,
    add_to: Path | None,
    master: str | None,
) -> Engine:
    """What counts: the engine that is named, else the one that the other options are of."""
    of_batches = {"--memory": memory is not None, "--resume": resume}
    chosen = engine or (Engine.stream if any(of_batches.values()) or add_to else Engine.memory)
    goes_with = {option: Engine.stream for option, value in of_batches.items() if value}
    goes_with |= {"--master": Engine.spark} if master else {}
    for option, needed in goes_with.items():
        if chosen is not needed:
            raise InputError(f"{option} goes with --engine {needed.value}", found=chosen.value)
    if add_to and chosen is Engine.memory:
        raise InputError("--add-to goes with --engine stream or spark", found=chosen.value)
    return chosen


def _use_threads(jobs: int | None) -> None:
    """Count with so many threads; only before the libraries that count are loaded."""
    if jobs is not None:
        for name in ("AUDIT_JOBS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(jobs)


@contextmanager
def _going_on(checkpoint: Path | None) -> Iterator[None]:
    """Tell how a count in batches goes on that was interrupted and kept itself."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint and checkpoint.exists():
            typer.echo("Interrupted. The same command with --resume goes on.", err=True)
        raise


@contextmanager
def _rendering(
    result: AuditResult, folder: Path, pdf: bool, progress: Progress
) -> Iterator[list[RenderError]]:
    """Write the reports at the end of the block; the PDF is typeset from its beginning on.

    Yields:
        What could not be rendered, once the block has ended; it loses nothing else.
    """
    import reports

    unrendered: list[RenderError] = []
    with _pdf_begun(result, pdf, progress, unrendered) as finished_pdf:
        yield unrendered
        progress("writing report.html")
        with _kept_whole(folder / "report.html", unrendered) as path:
            reports.write_html(result, path)
        if finished_pdf:
            progress("writing report.pdf")
            with _kept_whole(folder / "report.pdf", unrendered) as path:
                path.write_bytes(finished_pdf())


@contextmanager
def _pdf_begun(
    result: AuditResult, pdf: bool, progress: Progress, unrendered: list[RenderError]
) -> Iterator[Callable[[], bytes] | None]:
    from reports.pdf.pdf import rendering_pdf

    with ExitStack() as begun:
        finished = None
        if pdf:
            progress("preparing report.pdf")
            try:
                finished = begun.enter_context(rendering_pdf(result.shared()))
            except RenderError as error:
                unrendered.append(error)
        yield finished


@contextmanager
def _kept_whole(path: Path, unrendered: list[RenderError]) -> Iterator[Path]:
    """Leave a report out that could not be rendered."""
    try:
        yield path
    except RenderError as error:
        path.unlink(missing_ok=True)
        unrendered.append(error)


def _render_comparison(shared: Mapping[str, Any], path: Path) -> list[RenderError]:
    import reports

    try:
        reports.write_comparison(shared, path)
    except RenderError as error:
        path.unlink(missing_ok=True)
        return [error]
    return []


def _exit_status(result: AuditResult, fail_on: FailOn, unrendered: list[RenderError]) -> int:
    if unrendered or result.status == "error":
        return 3
    failing = {"never": (), "error": ("fail",), "warning": ("fail", "warn")}[fail_on.value]
    return int(any(check.status in failing for check in result.checks))


def _summarise(
    result: AuditResult, out: Path, unrendered: list[RenderError], *, as_json: bool
) -> None:
    from audit.cli.terminal import machine_summary, summary

    shared = result.shared()
    if as_json:
        _print_json(machine_summary(shared, out, unrendered))
    else:
        from reports.chapters.verdict import verdict

        told = verdict(shared)
        _print(summary(shared, told.badge.word, told.sentence))
        typer.echo(f"Report: {out / 'report.html'}")
    _tell_unrendered(unrendered)


def _tell_unrendered(unrendered: list[RenderError]) -> None:
    for error in unrendered:
        typer.echo(f"Not written: {error}", err=True)
