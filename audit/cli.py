"""The command line: the only file that prints, and the only one that knows of reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.errors import AuditError, InputError, RenderError

if TYPE_CHECKING:
    from rich.table import Table

    from audit.preference import PreferenceResult
    from audit.result import AuditResult
    from audit.verify import Verdict

app = typer.Typer(
    name="audit",
    help="Tell whether a dataset uses a label hierarchy the way its authors meant it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class FailOn(StrEnum):
    """Severity from which findings end in exit status 1."""

    never = "never"
    error = "error"
    warning = "warning"


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
    titles: Annotated[
        list[Path] | None, typer.Option(help="Dictionary of code titles; may be repeated.")
    ] = None,
    relations: Annotated[
        list[str] | None, typer.Option(help="OBO relations that count beside is_a.")
    ] = None,
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
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit 1 on findings of this severity or above.")
    ] = FailOn.never,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine summary.")] = False,
) -> None:
    """Audit a dataset and leave a run: HTML, PDF, JSON and tables."""
    with _told():
        from audit.run_folder import refuse_occupied, seal, write_tables, writing_run

        started = datetime.now(UTC)
        refuse_occupied(out, overwrite=overwrite)
        _refuse_options_of_predictions(predictions, softmax, sigmoid, single_label)
        with _progress() as step:
            step("reading")
            from audit.instances import instance_frame, write_instances
            from audit.judge import judging_date
            from audit.settings import Settings

            settings = Settings(
                dataset=dataset,
                hierarchy=hierarchy,
                format=format,
                id=id,
                label=label,
                group=group,
                split=split,
                titles=tuple(titles or ()),
                relations=tuple(relations or ()),
                classes=classes,
                predictions=predictions,
                transform="softmax" if softmax else "sigmoid" if sigmoid else None,
                single_label=single_label,
                policy=policy,
                min_cell=min_cell,
                reference=reference,
                seed=seed,
                today=judging_date(),
            )
            stated, earlier = settings.stated_policy(), settings.reference_run()
            labels, model = settings.read(stated)
            step("counting and checking")
            result = settings.audit(labels, model, stated, earlier)
            with writing_run(out, overwrite=overwrite) as folder:
                step("writing tables")
                write_tables(result, folder)
                if keep_instances:
                    write_instances(instance_frame(labels, model), folder)
                step("writing reports")
                unrendered = _render(result, folder, pdf=pdf)
                seal(
                    folder,
                    result,
                    command=["audit", *sys.argv[1:]],
                    started=started,
                    settings=settings.model_dump(mode="json"),
                )
        _summarise(result, out, unrendered, as_json=as_json)
        raise typer.Exit(_exit_status(result, fail_on, unrendered))


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Write report.pdf.")] = True,
) -> None:
    """Render the reports of a run again, without recounting."""
    with _told():
        from audit.run_folder import read_run, replacing_reports

        result = read_run(run)
        with _progress() as step, replacing_reports(run) as folder:
            step("writing reports")
            unrendered = _render(result, folder, pdf=pdf)
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
) -> None:
    """Judge a run again by another policy, without recounting."""
    with _told():
        from audit.judge import judging_date
        from audit.run_folder import judging_run, read_run
        from audit.settings import Judging

        with _progress() as step:
            step("judging")
            judging = Judging(policy=policy, reference=reference, today=judging_date())
            result = judging.judge(read_run(run))
            with judging_run(
                run,
                result,
                command=["audit", *sys.argv[1:]],
                judging=judging.model_dump(mode="json"),
            ) as folder:
                step("writing reports")
                unrendered = _render(result, folder, pdf=pdf)
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell whether a run is as it was sealed, agrees with itself and can be made again."""
    with _told():
        if data is not None and not recompute:
            raise InputError("--data goes with --recompute", found="--data alone")
        with _progress() as step:
            step("verifying")
            from audit.verify import verify_run

            verdicts = verify_run(run, recompute=recompute, data=data)
        holds = all(verdict.outcome != "does not hold" for verdict in verdicts)
        if as_json:
            told = {"run": str(run), "holds": holds, "verdicts": [asdict(v) for v in verdicts]}
            typer.echo(json.dumps(told, ensure_ascii=False, indent=1))
        else:
            _print_verdicts(verdicts)
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
) -> None:
    """Tell what changed between two runs, and why."""
    with _told():
        from audit.compare import COMPARISON, HTML, compare_runs, writing_comparison
        from audit.run_folder import read_run, refuse_occupied

        started = datetime.now(UTC)
        refuse_occupied(out, overwrite=overwrite, kind=COMPARISON)
        with _progress() as step:
            step("comparing")
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
            ) as folder:
                step("writing the report")
                unrendered = _render_comparison(shared, folder / HTML)
        if as_json:
            summary = _comparison_summary(shared, out, unrendered)
            typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        else:
            _print_comparison(shared)
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
) -> None:
    """Draw the weighted DAG of one instance: its labels, and its predictions beside them."""
    with _told():
        from audit.instances import read_instance

        for title, dag in read_instance(run, instance).items():
            typer.echo(f"{title} of {instance}\n{dag.tree(least=least)}\n")


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
    with _told(), _progress() as step:
        from audit.preference import run_preference

        step("comparing")
        result = run_preference(predictions, questions, hierarchy, relation=relation, k=k)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, indent=1))
    else:
        _print_preference(result)


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")]) -> None:
    """List the built-in hierarchies, the formats, the checks or the metrics."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "kind", "what it is") if what is Listed.formats else ("name", "what"):
        table.add_column(heading, overflow="fold")
    for line in _listed(what):
        table.add_row(*line)
    Console().print(table)


def _listed(what: Listed) -> Iterator[tuple[str, ...]]:
    if what is Listed.checks:
        from audit.checks import ALL_CHECKS

        yield from ((check.name, check.title) for check in ALL_CHECKS)
        return
    if what is Listed.metrics:
        from audit.metrics import METRICS

        yield from ((metric.name, metric.title) for metric in METRICS)
        return
    from audit import hierarchies, loaders

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
    except OSError as error:
        typer.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def _progress() -> Iterator[Any]:
    """A function that shows the present step on standard error, on a terminal only."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    with console.status("starting") as status:
        yield lambda step: status.update(f"{step} ...")


def _refuse_options_of_predictions(
    predictions: Path | None, softmax: bool, sigmoid: bool, single_label: bool
) -> None:
    asked = {"--softmax": softmax, "--sigmoid": sigmoid, "--single-label": single_label}
    given = [option for option, on in asked.items() if on]
    if given and predictions is None:
        raise InputError(f"{', '.join(given)} goes with --predictions", found="no predictions")
    if softmax and sigmoid:
        raise InputError("--softmax or --sigmoid may be given", found="both")


def _render(result: AuditResult, folder: Path, *, pdf: bool) -> list[RenderError]:
    """Write the reports; what could not be rendered comes back and loses nothing else."""
    import reports

    unrendered = []
    writers = [(reports.write_html, "report.html")]
    writers += [(reports.write_pdf, "report.pdf")] if pdf else []
    for write, name in writers:
        try:
            write(result, folder / name)
        except RenderError as error:
            (folder / name).unlink(missing_ok=True)
            unrendered.append(error)
    return unrendered


def _exit_status(result: AuditResult, fail_on: FailOn, unrendered: list[RenderError]) -> int:
    if unrendered or result.status == "error":
        return 3
    failing = {"never": (), "error": ("fail",), "warning": ("fail", "warn")}[fail_on.value]
    return int(any(check.status in failing for check in result.checks))


def _summarise(
    result: AuditResult, out: Path, unrendered: list[RenderError], *, as_json: bool
) -> None:
    if as_json:
        typer.echo(json.dumps(_summary(result, out, unrendered), ensure_ascii=False, indent=1))
    else:
        _print_table(result)
        typer.echo(f"Report: {out / 'report.html'}")
    _tell_unrendered(unrendered)


def _tell_unrendered(unrendered: list[RenderError]) -> None:
    for error in unrendered:
        typer.echo(f"Not written: {error}", err=True)


def _summary(result: AuditResult, out: Path, unrendered: list[RenderError]) -> dict[str, Any]:
    shared = result.shared()
    return {
        "run": str(out),
        "status": shared["status"],
        "ledger": shared["ledger"],
        "checks": [
            {key: check[key] for key in ("name", "status", "denominator", "total", "folded")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in unrendered],
    }


def _print_table(result: AuditResult) -> None:
    from rich.console import Console
    from rich.table import Table

    ledger = result.ledger
    console = Console()
    console.print(
        f"{ledger['instances']:,} instances; {ledger['rows_mapped']:,} of "
        f"{ledger['rows_read']:,} rows mapped to {result.identity['hierarchy']['name']}",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("check", "status", "findings", "looked at"):
        table.add_column(heading, justify="right" if heading == "findings" else "left")
    for check in result.checks:
        looked_at = check.not_applicable or f"{check.denominator:,} {check.denominator_unit}"
        table.add_row(
            check.name, check.status, f"{len(check.standing):,}", check.crashed or looked_at
        )
    console.print(table)


def _render_comparison(shared: Mapping[str, Any], path: Path) -> list[RenderError]:
    import reports

    try:
        reports.write_comparison(shared, path)
    except RenderError as error:
        path.unlink(missing_ok=True)
        return [error]
    return []


def _comparison_summary(
    shared: Mapping[str, Any], out: Path, unrendered: list[RenderError]
) -> dict[str, Any]:
    return {
        "comparison": str(out),
        "changed": shared["changed"],
        "causes": {cause["name"]: cause["changed"] for cause in shared["causes"]},
        "totals": shared["totals"],
        "checks": [
            {key: value for key, value in check.items() if key not in ("findings", "not_shown")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in unrendered],
    }


def _print_comparison(shared: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for cause in shared["causes"]:
        if cause["changed"]:
            console.print(Text(f"{cause['name']} differs: {cause['statement']}"))
    if not any(cause["changed"] for cause in shared["causes"]):
        console.print("data, hierarchy, normaliser, tool and policy are the same")
    nodes = [
        (row["node"], row["title"] or "", *_told_change(row, "support")) for row in _largest(shared)
    ]
    if nodes:
        heading = ("node", "title", "OLD", "NEW", "change in points", "95 % interval")
        console.print(_ranked_table(heading, nodes))
    kinds = ("new", "gone", "worse", "better")
    checks = [
        (
            check["name"],
            check["status_old"] or "-",
            check["status_new"] or "-",
            *(str(check["changes"][kind]) for kind in kinds),
        )
        for check in shared["checks"]
        if check["status_old"] != check["status_new"] or any(check["changes"][k] for k in kinds)
    ]
    if checks:
        console.print(_ranked_table(("check", "OLD", "NEW", *kinds), checks, left=3))
    totals = shared["totals"]
    told = ", ".join(f"{totals[name]:,} {name}" for name in ("nodes", "pairs", "edits"))
    found = ", ".join(f"{totals[name]:,} {name}" for name in kinds)
    console.print(f"changed: {told}; findings: {found}", highlight=False)


LARGEST = 10
"""Nodes that the terminal shows of a comparison."""


def _largest(shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = shared["nodes"]["rows"]
    return rows[:LARGEST]


def _told_change(row: Mapping[str, Any], counted: str) -> tuple[str, str, str, str]:
    counts = tuple(
        f"{value:,}" if isinstance(value, int) else str(value)
        for value in (row[f"{counted}_old"], row[f"{counted}_new"])
    )
    if row["difference"] is None:
        return counts[0], counts[1], "withheld", "withheld"
    low, high = 100 * row["low"], 100 * row["high"]
    return counts[0], counts[1], f"{100 * row['difference']:+.2f}", f"{low:+.2f} to {high:+.2f}"


def _ranked_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 2
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("checked", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for verdict in verdicts:
        table.add_row(verdict.outcome, verdict.name, Text(verdict.detail))
    Console().print(table)


def _print_preference(result: PreferenceResult) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        f"{result.questions:,} questions of {result.predicate}; {result.unscored:,} without "
        f"scores; {result.answers - len(result.unmapped):,} of {result.answers:,} specific answers "
        f"are nodes of {result.hierarchy}; {result.tokens:,} tokens",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("metric", "value", "95 % interval", "n", "ties", "left out"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for row in result.rows:
        measured = row.value is not None
        table.add_row(
            row.metric,
            f"{row.value:.4f}" if measured else "-",
            f"{row.low:.4f} to {row.high:.4f}" if measured else "-",
            f"{row.n:,}",
            f"{row.ties:,}",
            f"{row.left_out:,}",
        )
    console.print(table)
