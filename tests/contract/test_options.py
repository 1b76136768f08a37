"""An option is declared once: where its field is."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from datetime import date
from inspect import getfile
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from pydantic import TypeAdapter
from typer.testing import CliRunner

from fixtures.registered import (
    ANALYSES,
    COMMANDS,
    FileAnalysis,
    Judging,
    Manifest,
    Option,
    Settings,
    declared,
    options_of,
)


@dataclass(frozen=True, kw_only=True)
class Flavoured(Settings):
    """Settings with a field more."""

    flavour: Annotated[Literal["plain", "salted"], Option("Flavour of the numbers.", "Kitchen")] = (
        "plain"
    )


def audit_flavoured(settings: Flavoured) -> None:
    """Print what the manifest would store."""
    typer.echo(settings.stored()["flavour"])


def invoked(command: object, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(declared(command))  # type: ignore[arg-type]
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def test_a_field_more_is_an_option_more() -> None:
    code, shown = invoked(audit_flavoured, "--help")

    assert code == 0
    assert "--flavour" in shown
    assert "Flavour of the numbers." in shown
    assert "Kitchen" in shown


def test_a_field_more_is_stored_and_read_again() -> None:
    stated = ("labels.csv", "--hierarchy", "icd9cm", "--flavour", "salted")

    assert invoked(audit_flavoured, *stated) == (0, "salted\n")
    settings = Flavoured(dataset="x", hierarchy="icd9cm", flavour="salted", today=date(2024, 5, 1))
    assert TypeAdapter(Flavoured).validate_python(settings.stored()) == settings


def test_a_manifest_refuses_a_field_that_settings_lack() -> None:
    settings = Settings(dataset="x", hierarchy="icd9cm")
    stored = settings.stored()
    manifest = {"outputs": {}, "inputs": (), "seal": "", "settings": stored}

    assert Manifest.model_validate(manifest).settings == settings
    stored["flavour"] = "salted"
    with pytest.raises(ValueError, match="flavour"):
        Manifest.model_validate(manifest)


EVERY = [(name, command) for name, command, *_ in COMMANDS]


def test_a_run_has_few_options() -> None:
    assert len([one for one in options_of(dict(EVERY)["run"]) if one.flags[0] != "--dataset"]) <= 60


def test_every_field_of_settings_is_an_option_or_of_an_analysis() -> None:
    stated = {one.field for _, command in EVERY for one in options_of(command)}

    assert set(Settings.__dataclass_fields__) - stated == {"today", "analyses", "labels_of"}
    assert set(Judging.__dataclass_fields__) - stated == {"today"}


@pytest.mark.parametrize("analysis", ANALYSES)
def test_an_analysis_reads_whatever_is_stated_of_it(analysis: type[FileAnalysis]) -> None:
    sources = [path.read_text("utf-8") for path in Path(getfile(analysis)).parent.glob("*.py")]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]

    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert {*analysis.stated_by.__dataclass_fields__} <= read
