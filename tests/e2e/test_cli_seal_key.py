"""What may be shared tells nothing of data and restricted files, and a key seals them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from audit.results.shared_view import SCHEMA_VERSION
from audit.runs.manifest import read_key
from fixtures.commands import audit, refused
from fixtures.sealed_files import reseal
from fixtures.toy import EDGES

ROWS = [f"i{n},{label}" for n, label in enumerate(["dog"] * 30 + ["cow"] * 20 + ["bird"] * 4)]
PREDICTED = [f"i{n}|dog" for n in range(54)]


def done(*arguments: object) -> Result:
    result = audit(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs, a key, and three runs: plain, keyed, and with predictions."""
    place = tmp_path_factory.mktemp("desk")
    edges = "\n".join(",".join(edge) for edge in EDGES)
    (place / "toy.csv").write_text(f"child,parent\n{edges}\n")
    (place / "labels.csv").write_text("\n".join(["instance,label", *ROWS]) + "\n")
    (place / "predicted.psv").write_text("\n".join(PREDICTED) + "\n")
    (place / "policy.toml").write_text("max_findings = 2\n")
    (place / "key").write_bytes(bytes(range(32)))
    (place / "other key").write_bytes(bytes(range(1, 33)))
    given = ("run", place / "labels.csv", "--hierarchy", place / "toy.csv", "--min-cell", 11)
    done(*given, "--out", place / "plain")
    keyed = ("--seal-key", place / "key")
    done(*given, "--no-pdf", "--keep-instances", *keyed, "--out", place / "keyed")
    model = ("--predictions", place / "predicted.psv")
    done(*given, "--no-pdf", *model, *keyed, "--out", place / "model")
    done("compare", place / "plain", place / "keyed", "--out", place / "compared")
    return place


FOLDERS = ("plain", "keyed", "model", "compared")


def shared_bytes(run: Path) -> bytes:
    files = (path for path in sorted(run.rglob("*")) if path.is_file())
    return b"".join(path.read_bytes() for path in files if "restricted" not in path.parts)


def secrets(place: Path, run: Path) -> Iterator[Path]:
    yield place / "labels.csv"
    yield place / "predicted.psv"
    yield from (path for path in (run / "restricted").rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FOLDERS)
def test_what_may_be_shared_has_no_digest_of_what_may_not(desk: Path, name: str) -> None:
    shared = shared_bytes(desk / name)
    data = json.loads((desk / "plain" / "restricted" / "manifest.json").read_bytes())

    assert data["data_sha256"].encode() not in shared
    for path in secrets(desk, desk / name):
        assert sha256(path.read_bytes()).hexdigest().encode() not in shared, path


def test_trying_every_value_of_a_withheld_count_meets_no_digest(desk: Path) -> None:
    """Bird, of 4 instances, reads <11: its file is made again with each count from 1 to 10."""
    path = desk / "plain" / "restricted" / "nodes.parquet"
    nodes, shared = pl.read_parquet(path), shared_bytes(desk / "plain")
    bird = pl.col("node") == "bird"
    made = dict[int, str]()
    for count in range(1, 11):
        tried, file = (
            nodes.with_columns(
                pl.when(bird).then(count).otherwise(name).cast(pl.Int64).alias(name)
                for name in ("direct", "support")
            ),
            BytesIO(),
        )
        tried.write_parquet(file)
        made[count] = sha256(file.getvalue()).hexdigest()

    assert made[4] == sha256(path.read_bytes()).hexdigest()
    assert [count for count, digest in made.items() if digest.encode() in shared] == []


def test_the_restricted_manifest_has_every_digest(desk: Path) -> None:
    restricted = desk / "model" / "restricted"
    listed = json.loads((restricted / "manifest.json").read_bytes())
    files = {path for path in restricted.rglob("*") if path.is_file()}

    assert {desk / "model" / name for name in listed["outputs"]} == files - {
        restricted / "manifest.json"
    }
    for name, digest in listed["outputs"].items():
        assert sha256((desk / "model" / name).read_bytes()).hexdigest() == digest
    by_role = {source["role"]: source["sha256"] for source in listed["inputs"]}
    for role, name in {"data": "labels.csv", "predictions": "predicted.psv"}.items():
        assert by_role[role] == sha256((desk / name).read_bytes()).hexdigest()


def test_a_key_tells_equal_data_and_another_key_tells_nothing(desk: Path, tmp_path: Path) -> None:
    def digest(run: Path) -> str | None:
        told: str | None = json.loads((run / "result.json").read_bytes())["identity"]["data"][
            "hmac_sha256"
        ]
        return told

    given = ("run", desk / "labels.csv", "--hierarchy", desk / "toy.csv", "--no-pdf")
    done(*given, "--seal-key", desk / "key", "--out", tmp_path / "again")
    done(*given, "--seal-key", desk / "other key", "--out", tmp_path / "other")

    assert digest(desk / "plain") is None
    assert digest(tmp_path / "again") == digest(desk / "keyed")
    assert digest(tmp_path / "other") not in (None, digest(desk / "keyed"))
    assert str(digest(desk / "keyed")) in (desk / "keyed" / "report.html").read_text("utf-8")


def outcomes(*arguments: object) -> dict[str, str]:
    told = json.loads(audit("verify", *arguments, "--json").stdout)
    return {verdict["name"]: verdict["outcome"] for verdict in told["verdicts"]}


def details(run: Path, *given: object) -> dict[str, str]:
    told = json.loads(audit("verify", run, "--json", *given).stdout)
    return {verdict["name"]: verdict["detail"] for verdict in told["verdicts"]}


def test_verify_checks_the_restricted_files_with_the_key_alone(desk: Path) -> None:
    key = ("--seal-key", desk / "key")

    assert outcomes(desk / "keyed", *key)["restricted"] == "holds"
    assert outcomes(desk / "keyed")["restricted"] == "not checked"
    assert outcomes(desk / "plain")["restricted"] == "not checked"
    other = ("--seal-key", desk / "other key")
    told = outcomes(desk / "keyed", *other)
    assert told.pop("manifest") == "does not hold"
    assert {*told.values()} == {"not checked"}
    assert outcomes(desk / "plain", *key)["manifest"] == "does not hold"


def test_a_run_that_another_key_sealed_is_not_read(desk: Path, tmp_path: Path) -> None:
    run = shutil.copytree(desk / "keyed", tmp_path / "run")
    given = ("report", run, "--no-pdf", "--seal-key")

    assert "is not what this key sealed" in audit(*given, desk / "other key").stderr
    done(*given, desk / "key")


@pytest.mark.parametrize("key", [True, False])
def test_recomputation_holds_with_the_key_and_without(desk: Path, key: bool) -> None:
    given = ("--seal-key", desk / "key") if key else ()
    found = outcomes(desk / "keyed", "--recompute", *given)

    assert found["recomputation"] == "holds"
    assert found["inputs"] == ("holds" if key else "not checked")


def test_each_line_says_what_the_key_tells(desk: Path) -> None:
    listing = "restricted/manifest.json"
    keyed = details(desk / "keyed", "--recompute", "--seal-key", desk / "key")
    without = details(desk / "keyed", "--recompute")

    assert keyed["inputs"] == "2 files with their digests"
    assert keyed["restricted"].endswith(f"files as {listing} lists them, sealed with the key")
    assert without["inputs"] == (
        f"2 files with their digests, but no key here seals {listing}, which has them"
    )
    assert without["restricted"].endswith("lists them; add --seal-key")
    assert without["recomputation"] == "the inputs give the bytes of result.json"


def test_inputs_without_digests_are_told(desk: Path, tmp_path: Path) -> None:
    run = shutil.copytree(desk / "model", tmp_path / "run")
    shutil.rmtree(run / "restricted")
    told = details(run, "--recompute", "--seal-key", desk / "key")

    assert told["inputs"] == (
        "no intact restricted/manifest.json has the digests of 2 files of data"
    )


def test_tables_exchanged_with_their_manifest_are_found_with_the_key(
    desk: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(desk / "keyed", tmp_path / "run")
    shutil.rmtree(run / "restricted")
    shutil.copytree(desk / "plain" / "restricted", run / "restricted")

    assert outcomes(run)["restricted"] == "not checked"
    assert outcomes(run, "--seal-key", desk / "key")["manifest"] == "does not hold"


def test_what_may_be_shared_verifies_without_the_rest(desk: Path, tmp_path: Path) -> None:
    run = shutil.copytree(desk / "plain", tmp_path / "run")
    shutil.rmtree(run / "restricted")
    found = outcomes(run)

    assert [name for name, told in found.items() if told == "does not hold"] == []
    assert {found[name] for name in ("manifest", "files", "schema", "report.pdf")} == {"holds"}
    assert {found[name] for name in ("restricted", "tables")} == {"not checked"}


@pytest.mark.parametrize("name", ["judge", "report"])
def test_the_seal_is_kept_with_the_key_alone(desk: Path, tmp_path: Path, name: str) -> None:
    run = shutil.copytree(desk / "keyed", tmp_path / "run")
    given = command(name, desk, run, tmp_path)
    refused(audit(*given), "the key that the run is sealed with is required")
    done(*given, "--seal-key", desk / "key")
    assert outcomes(run, "--seal-key", desk / "key")["restricted"] == "holds"


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_key_that_could_be_guessed_is_refused(desk: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    given = ("run", desk / "labels.csv", "--hierarchy", desk / "toy.csv", "--out", tmp_path / "run")
    for key, found in (("key", f"{len(content)} bytes"), ("nowhere", "no file")):
        told = audit(*given, "--seal-key", tmp_path / key)
        refused(told, "a key of at least 16 bytes", found)
    assert not (tmp_path / "run").exists()


def test_a_key_of_the_least_length_is_read_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sixteen letters.")
    key = read_key(tmp_path / "key")

    assert key.secret == b"sixteen letters."
    assert "sixteen" not in repr(key)


# --- runs that are not as they were sealed ------------------------------------------------------


def tampered(run: Path, name: str) -> None:
    if name == "manifest.json":
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace('"command"', '"commands"'), "utf-8")
    elif name == "gone":
        (run / "restricted" / "edges.parquet").unlink()
    elif name == "beside":
        (run / "beside.txt").write_text("not of the run")
    else:
        frame = pl.read_parquet(run / name)
        frame.with_columns(pl.col(pl.Int64) + 1).write_parquet(run / name)


BROKEN = {
    "manifest.json": "manifest.json is not as it was sealed",
    "gone": "missing: 'restricted/edges.parquet'",
    "beside": "not of the run: 'beside.txt'",
    "restricted/nodes.parquet": "changed: 'restricted/nodes.parquet'",
}
COMMANDS = ("report", "judge", "compare", "show", "cases", "run", "fixes")


def command(name: str, desk: Path, run: Path, out: Path) -> tuple[object, ...]:
    return {
        "report": ("report", run, "--no-pdf"),
        "judge": ("judge", run, "--overwrite", "--policy", desk / "policy.toml", "--no-pdf"),
        "compare": ("compare", desk / "plain", run, "--out", out),
        "show": ("show", run, "i3"),
        "cases": ("cases", run),
        "fixes": ("fixes", run),
        "explore": ("explore", run, "--static", out),
        "run": (
            *("run", desk / "labels.csv", "--hierarchy", desk / "toy.csv", "--no-pdf"),
            *("--reference", run, "--out", out),
        ),
    }[name]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_run_that_is_not_as_sealed_is_refused(
    desk: Path, tmp_path: Path, name: str, broken: str
) -> None:
    run = shutil.copytree(desk / "plain", tmp_path / "run")
    tampered(run, broken)
    before = shared_bytes(run)
    asked = command(name, desk, run, tmp_path / "out")

    refused(audit(*asked), "a run as it was sealed is required", BROKEN[broken])
    assert shared_bytes(run) == before
    assert not (tmp_path / "out").exists()


NO_RUN = ("nowhere", "manifest.json", "result.json", "version")


@pytest.mark.parametrize("name", [*COMMANDS, "explore"])
@pytest.mark.parametrize("case", NO_RUN)
def test_what_is_no_run_of_this_version_is_refused(
    desk: Path, tmp_path: Path, name: str, case: str
) -> None:
    run = tmp_path / "run"
    if case != "nowhere":
        shutil.copytree(desk / "plain", run)
    if case == "version":
        text = (run / "result.json").read_text("utf-8")
        own = f'"schema_version": "{SCHEMA_VERSION}"'
        assert own in text
        (run / "result.json").write_text(text.replace(own, '"schema_version": "99.0"'), "utf-8")
        reseal(run)
    elif case != "nowhere":
        (run / case).unlink()

    told = f"schema version {SCHEMA_VERSION}" if case == "version" else "run"
    refused(audit(*command(name, desk, run, tmp_path / "out")), str(run), f"{told} ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["report", "judge", "compare", "run"])
def test_what_was_forced_stands_in_the_manifest_and_never_verifies(
    desk: Path, tmp_path: Path, name: str
) -> None:
    run = shutil.copytree(desk / "plain", tmp_path / "run")
    tampered(run, "restricted/nodes.parquet")
    forced = done(*command(name, desk, run, tmp_path / "out"), "--force")
    made = run if name in ("report", "judge") else tmp_path / "out"

    assert "Continued in spite of: changed: 'restricted/nodes.parquet'" in forced.stderr
    manifest = json.loads((made / "manifest.json").read_bytes())
    assert "changed: 'restricted/nodes.parquet'" in manifest["forced"]
    assert outcomes(made)["manifest"] == "does not hold"
    again = audit(*command("report", desk, made, tmp_path)) if name != "compare" else None
    assert again is None or again.exit_code == 2
