"""``audit explore`` as a process: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from audit.cli.app import app


@pytest.fixture
def run(toy_files: tuple[Path, Path], tmp_path: Path) -> Path:
    labels, hierarchy = toy_files
    out = tmp_path / "run"
    made = ["run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", "--keep-instances"]
    assert CliRunner().invoke(app, [*map(str, made)]).exit_code == 0
    return out


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["explore", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.output


@pytest.mark.slow
def test_it_prints_an_address_serves_it_and_ends_on_interrupt(run: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from audit.cli.app import app; app()",
        "explore",
        str(run),
        "--show-instances",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            printed = started.stdout.readline()
            found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+/[\w-]{43}/)\n", printed)
            assert found, printed
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(printed.removeprefix("Open ").strip(), timeout=30) as answer:
                assert answer.geturl() == found[1]
                assert "Audit of" in answer.read().decode()
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(found[1], timeout=30)
            started.send_signal(signal.SIGINT)
            rest, errors = started.communicate(timeout=60)
        finally:
            started.kill()
    assert started.returncode == 0, errors
    assert rest == ""
    assert "Traceback" not in errors


def test_it_listens_on_this_machine_alone(run: Path) -> None:
    from audit.explorer.application import listening_at

    with listening_at(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_refused(run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = refused(run, "--port", taken.getsockname()[1])
    assert "a port that is free is required" in told
    assert "--port" in told


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    assert "the folder of a run is required" in refused(tmp_path)


def test_a_run_of_another_schema_is_refused(run: Path) -> None:
    result = run / "result.json"
    result.write_bytes(
        re.sub(rb'"schema_version": "[\d.]+"', b'"schema_version": "0.9"', result.read_bytes())
    )

    assert "schema version" in refused(run)


def test_a_tampered_run_is_refused_unless_forced(run: Path) -> None:
    pairs = run / "restricted" / "pairs.parquet"
    pairs.write_bytes(pairs.read_bytes() + b" ")

    assert "as it was sealed" in refused(run)


def test_a_run_without_its_pairs_is_refused(run: Path) -> None:
    (run / "restricted" / "pairs.parquet").unlink()

    assert "missing: 'restricted/pairs.parquet'" in refused(run)


@pytest.mark.parametrize("beside", [(), ("--static", "out"), ("--show-instances", "--static", "x")])
def test_media_are_refused_where_no_instance_is_shown(run: Path, beside: tuple[str, ...]) -> None:
    told = refused(run, "--media", run / "media.csv", *beside)

    assert "--media shows texts and pictures of single instances" in told
    assert "add --show-instances" in told


def test_media_that_cannot_be_read_are_refused_before_anything_is_served(
    run: Path, tmp_path: Path
) -> None:
    media = tmp_path / "media.csv"
    media.write_text("id,text\nnobody,a\n")

    told = refused(run, "--show-instances", "--media", media)
    assert "a row of an instance of the run is required" in told
    assert "1 row of others" in told
    assert "nothing there" in refused(run, "--show-instances", "--media", tmp_path / "gone.csv")


@pytest.mark.slow
def test_the_text_of_an_instance_is_served_and_what_was_read_is_said(
    run: Path, tmp_path: Path
) -> None:
    from fixtures.explored import Visitor

    ids = pl.read_parquet(run / "restricted/instances.parquet")["instance"].unique().sort()
    media = tmp_path / "media.csv"
    media.write_text(f"id,text\n{ids[0]},what was written\nnobody,a\n")
    command = [sys.executable, "-c", "from audit.cli.app import app; app()", "explore", str(run)]
    options = ["--show-instances", "--media", str(media)]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            printed = started.stdout.readline()
            found = re.fullmatch(r"Open http://127\.0\.0\.1:(\d+)(/.+)/\n", printed)
            assert found, printed
            visitor = Visitor(int(found[1]), found[2])
            visitor.enter()
            assert "what was written" in visitor.get("/instance", id=ids[0]).text
            started.send_signal(signal.SIGINT)
            _, said = started.communicate(timeout=60)
        finally:
            started.kill()
    unlabelled = 1
    assert f"Media of 1 of {len(ids) + unlabelled} instances." in said
    assert "Left out: 1 row of instances that the run lacks." in said


def test_a_policy_file_that_is_none_is_refused_before_anything_is_served(
    run: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("colour = 'red'\n")

    assert "every key of the policy must be known" in refused(run, "--policy", policy)
    assert "can be read" in refused(run, "--policy", tmp_path)
    assert "can be read" in refused(run, "--policy", policy / "below.toml")


@pytest.fixture
def other(toy_files: tuple[Path, Path], tmp_path: Path) -> Path:
    labels, hierarchy = toy_files
    more = tmp_path / "more.csv"
    more.write_text(labels.read_text("utf-8") + labels.read_text("utf-8").splitlines()[-1] + "\n")
    out = tmp_path / "other"
    made = ["run", more, "--hierarchy", hierarchy, "--out", out, "--no-pdf"]
    assert CliRunner().invoke(app, [*map(str, made)]).exit_code == 0
    return out


@pytest.mark.slow
def test_a_window_of_two_runs_has_their_history(run: Path, other: Path) -> None:
    command = [sys.executable, "-c", "from audit.cli.app import app; app()"]
    arguments = ["explore", str(run), "--beside", str(other)]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            address = started.stdout.readline().removeprefix("Open ").strip()
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            opener.open(address, timeout=30).close()
            with opener.open(f"{address.split('?')[0]}history", timeout=60) as answer:
                page = answer.read().decode()
            started.send_signal(signal.SIGINT)
            _, errors = started.communicate(timeout=60)
        finally:
            started.kill()
    assert f"audit compare {run} {other}" in page
    assert "Findings from run 1 to run 2" in page
    assert started.returncode == 0, errors
    assert "Traceback" not in errors


def test_a_run_beside_it_is_refused_as_the_first_is(run: Path, other: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "the folder of a run is required" in refused(run, "--beside", tmp_path / "empty")
    assert "the folder of a run is required" in refused(run, "--beside", tmp_path / "none")
    (other / "restricted" / "more.txt").write_text("not of the run")
    told = refused(run, "--beside", other)
    assert "as it was sealed" in told


def test_the_same_run_is_not_shown_beside_itself(run: Path, other: Path, tmp_path: Path) -> None:
    assert "each run may be named only once" in refused(run, "--beside", run)
    assert "each run may be named only once" in refused(run, "--beside", other, "--beside", other)
    bare = tmp_path / "bare"
    shutil.copytree(run, bare, ignore=shutil.ignore_patterns("restricted"))
    assert "each run may be named only once" in refused(run, "--beside", bare)


@pytest.mark.parametrize("option", [["--policy", "p.toml"], ["--port", "8080"]])
def test_plain_files_take_no_option_of_the_window(
    run: Path, tmp_path: Path, option: list[str]
) -> None:
    told = refused(run, "--static", tmp_path / "public", *option)

    assert "--static writes the shared view and opens no browser" in told
    assert option[0] in told
    assert not (tmp_path / "public").exists()


def test_plain_files_are_of_one_run(run: Path, other: Path, tmp_path: Path) -> None:
    told = refused(run, "--beside", other, "--static", tmp_path / "public")

    assert "only one of --static and --beside may be given" in told
    assert f"audit history {run} {other}" in " ".join(told.split())
    assert not (tmp_path / "public").exists()


def test_the_plain_files_say_the_day_of_the_run_and_show_nothing_restricted(
    run: Path, tmp_path: Path
) -> None:
    day = json.loads((run / "manifest.json").read_text())["settings"]["today"]
    done = CliRunner().invoke(app, ["explore", str(run), "--static", str(tmp_path / "public")])

    assert done.exit_code == 0, done.output
    first = (tmp_path / "public" / "index.html").read_text("utf-8")
    assert f"{date.fromisoformat(day):%B %Y}" in first
    assert "Unsuppressed" not in first
    assert "a new or an empty folder is required" in refused(run, "--static", tmp_path / "public")


def test_a_run_is_called_as_its_report_is(run: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('title = "Wards in June"\n')
    judged = CliRunner().invoke(
        app, ["report", str(run), "--overwrite", "--policy", str(policy), "--no-pdf"]
    )
    assert judged.exit_code == 0, judged.output
    done = CliRunner().invoke(app, ["explore", str(run), "--static", str(tmp_path / "public")])
    assert done.exit_code == 0, done.output

    for page in (run / "report.html", tmp_path / "public" / "index.html"):
        assert "<h1><bdi>Wards in June</bdi></h1>" in page.read_text("utf-8"), page
