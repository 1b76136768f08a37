"""``audit explore`` as a process: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from fixtures.doors import made, refused


@pytest.fixture
def run(toy_files: tuple[Path, Path], tmp_path: Path) -> Path:
    labels, hierarchy = toy_files
    out = tmp_path / "run"
    words = ["run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", "--keep-instances"]
    made(*words)
    return out


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


def test_a_port_in_use_is_refused(run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = refused("explore", run, "--port", taken.getsockname()[1])
    assert "a port that is free is required" in told
    assert "--port" in told


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    assert "the folder of a run is required" in refused("explore", tmp_path)


def test_a_run_of_another_schema_is_refused(run: Path) -> None:
    result = run / "result.json"
    result.write_bytes(
        re.sub(rb'"schema_version": "[\d.]+"', b'"schema_version": "0.9"', result.read_bytes())
    )

    assert "schema version" in refused("explore", run)


def test_a_tampered_run_is_refused_unless_forced(run: Path) -> None:
    pairs = run / "restricted" / "pairs.parquet"
    pairs.write_bytes(pairs.read_bytes() + b" ")

    assert "as it was sealed" in refused("explore", run)


def test_a_run_without_its_pairs_is_refused(run: Path) -> None:
    (run / "restricted" / "pairs.parquet").unlink()

    assert "missing: 'restricted/pairs.parquet'" in refused("explore", run)
