"""An option is declared once: where its field is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from pydantic import TypeAdapter
from typer.testing import CliRunner

from audit.base.limits import size_of
from audit.base.readings import AskedError
from audit.base.settings import Argument, Option
from audit.cli.app import COMMANDS
from audit.cli.declared import declared, options_of
from audit.cli.run import run
from audit.runs.sealed_run import Manifest
from audit.runs.settings import Judging, Settings


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


@dataclass(frozen=True)
class Group:
    """Options of each kind."""

    size: Annotated[int | None, Option("How large.", typed=str, parse=size_of)] = None
    colour: Annotated[
        Literal["red", "blue"] | None,
        Option("Make it red.", sets="red"),
        Option("Make it blue.", sets="blue"),
    ] = None
    names: Annotated[tuple[str, ...], Option("Names.", flag="--name")] = ()
    sure: Annotated[bool, Option("Whether.", after="names")] = True
    unstated: dict[str, int] = field(default_factory=dict)


def show_group(
    path: Annotated[Path, Argument("A path.")],
    group: Group,
    count: Annotated[int, Option("A count.", least=1, after="size")] = 2,
) -> None:
    typer.echo(repr((path.name, group, count)))


def test_options_make_the_group_that_declares_them() -> None:
    code, shown = invoked(
        show_group, "a", "--size", "2KB", "--blue", "--name", "x", "--name", "y", "--no-sure"
    )

    assert code == 0
    assert shown.strip() == repr(("a", Group(2000, "blue", ("x", "y"), False), 2))
    assert invoked(show_group, "a")[1].strip() == repr(("a", Group(), 2))


def test_an_option_follows_the_one_it_names() -> None:
    names = [one.name for one in options_of(show_group)]

    assert names == ["path", "size", "count", "red", "blue", "names", "sure"]


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        (("a", "--size", "lots"), "a size is required"),
        (("a", "--red", "--blue"), "only one of --red and --blue may be given"),
        (("a", "--count", "0"), "--count"),
        ((), "path"),
    ],
)
def test_what_cannot_be_taken_is_told(stated: tuple[str, ...], told: str) -> None:
    code, shown = invoked(show_group, *stated)

    assert code == 2
    assert told in shown


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": "4KB"}, " a --name z --size 4KB\n"),
        ({"size": "4KB", "sep": ","}, "Hint: there is no --sep , here"),
    ],
)
def test_a_command_is_offered_that_takes_what_is_asked(
    options: dict[str, object], told: str
) -> None:
    def ask(path: Annotated[Path, Argument("A path.")], group: Group) -> None:
        raise AskedError("it is not certain", options=options)

    code, shown = invoked(ask, "a", "--size", "2KB", "--name", "z")

    assert code == 2
    assert told in shown
    assert ("4KB" in shown) == ("sep" not in options)


def test_a_run_has_few_options() -> None:
    assert len([one for one in options_of(run) if one.flags[0] != "--dataset"]) <= 60


def test_every_field_of_settings_is_an_option_or_of_an_analysis() -> None:
    commands = [command for _, command, *_ in COMMANDS]
    stated = {one.field for command in commands for one in options_of(command)}

    assert set(Settings.__dataclass_fields__) - stated == {"today", "analyses", "labels_of"}
    assert set(Judging.__dataclass_fields__) - stated == {"today"}
