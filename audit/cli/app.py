"""The command line application; each command has a file of its own in this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from audit.cli.cases import cases
from audit.cli.compare import compare, history
from audit.cli.declared import declared
from audit.cli.explore import explore
from audit.cli.export import export
from audit.cli.file_audits import concepts, entailment, explanations, preference
from audit.cli.fixes import apply, fixes, sample
from audit.cli.lint import lint
from audit.cli.lists import list_
from audit.cli.report import report
from audit.cli.run import demo, run
from audit.cli.verify import verify

app = typer.Typer(
    name="audit",
    help="Check whether a dataset uses a label hierarchy the way its authors meant it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

COMMANDS: tuple[tuple[str, Callable[..., None], str, str], ...] = (
    ("demo", demo, "", "try-it --no-pdf"),
    (
        "run",
        run,
        "labels.csv --hierarchy icd9cm",
        "labels.csv --hierarchy tree.csv --no-pdf",
    ),
    ("report", report, "release-2", "release-2 --policy mine.toml --out judged"),
    ("verify", verify, "release-2", "release-2 --recompute --data labels.csv"),
    ("compare", compare, "release-1 release-2", "release-1 release-2 --out changes"),
    ("history", history, "release-1 release-2", "release-* --out history.html --overwrite"),
    ("explore", explore, "release-2", "release-2 --show-instances --port 8080"),
    (
        "export",
        export,
        "release-2 --csv tables --croissant croissant.json",
        "release-2 --xlsx tables.xlsx --overwrite",
    ),
    (
        "cases",
        cases,
        "release-2 malformed_code:refused --sample 5",
        "release-2 --instance 300001",
    ),
    ("fixes", fixes, "release-2", "release-2 --csv decisions.csv"),
    (
        "apply",
        apply,
        "release-2 --decisions decisions.csv --out release-3",
        "release-2 --certain --out release-3",
    ),
    ("sample", sample, "release-2 --csv blind.csv", "release-2 --judged blind.csv --json"),
    (
        "preference",
        preference,
        "scores.jsonl --hierarchy dict --questions hypernyms.jsonl",
        "scores.jsonl --hierarchy words.csv --questions hypernyms.jsonl --k 5",
    ),
    (
        "explanations",
        explanations,
        "attributions.jsonl --evidence spans.jsonl --hierarchy icd9cm",
        "attributions.parquet --hierarchy icd9cm --labels labels.csv --only wrong",
    ),
    (
        "concepts",
        concepts,
        "layers.npz --facets facets.csv --hierarchy icd9cm",
        "layers.npz --depth 1 --hierarchy icd9cm --predictions scores.csv",
    ),
    (
        "entailment",
        entailment,
        "tuples.csv --column label=valid",
        "train.csv valid.csv test.csv --predictions scores.csv",
    ),
    ("lint", lint, "icd9cm", "ontology.obo --relations part_of --fail-on warning"),
    ("list", list_, "checks", "formats"),
)
"""All commands in help order, each with two examples of its arguments."""

for name, command, *examples in COMMANDS:
    shown = "\n\n".join(f"audit {name} {example}".strip() for example in examples)
    app.command(name, epilog=f"Examples:\n\n{shown}")(declared(command))


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"audit {version('hierarchy-audit')}")
        raise typer.Exit


@app.callback()
def _audit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
