"""`audit judge` and `--reference` from files to a run: exit statuses, messages, what is left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import Result

from audit.base.files import sha256_of
from audit.runs.schema import result_schema
from fixtures.commands import audit, refused
from fixtures.sealed_files import listed, reseal

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LABELS = [("a", "cow"), ("b", "dog"), ("b", "tool"), ("c", "cat"), ("c", "mammal"), ("d", "elf")]
EDGES = "cow,mammal dog,mammal cat,mammal mammal,animal bird,animal animal,thing tool,thing"


class Desk:
    """A release, its run, and policies written beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        (folder / "toy.csv").write_text("child,parent\n" + EDGES.replace(" ", "\n") + "\n")
        lines = "\n".join(",".join(line) for line in LABELS)
        (folder / "labels.csv").write_text(f"instance,label\n{lines}\n")

    def policy(self, text: str, name: str = "policy") -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def audited(self, *options: object, out: Path | None = None) -> Result:
        files = (self.folder / "labels.csv", "--hierarchy", self.folder / "toy.csv")
        return audit("run", *files, "--no-pdf", "--out", out or self.run, *options)

    def judged(self, text: str, *options: object) -> Result:
        return audit(
            "report", self.run, "--overwrite", "--policy", self.policy(text), "--no-pdf", *options
        )

    def bytes(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in self.run.rglob("*") if p.is_file()}

    def shared(self) -> dict[str, Any]:
        shared: dict[str, Any] = json.loads((self.run / "result.json").read_text("utf-8"))
        return shared

    def status(self, check: str) -> str:
        return next(str(c["status"]) for c in self.shared()["checks"] if c["name"] == check)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    assert made.audited().exit_code == 0
    return made


WAIVED = """
[[waivers]]
check = "unknown_code"
owner = "Office"
reason = "Elves are handled by hand."
expires = 9999-01-01
"""


def test_judging_by_the_run_s_own_policy_changes_no_byte_of_its_result(desk: Desk) -> None:
    before = desk.bytes()
    assert desk.judged('name = "default"').exit_code == 0
    after = desk.bytes()

    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {"manifest.json"}


def test_a_key_left_out_keeps_what_the_run_was_made_with(desk: Desk) -> None:
    strict = desk.policy('[residual_share]\nvalue = 0.3\nreason = "Ours."\n', "strict")
    assert desk.audited("--overwrite", "--policy", strict, "--min-cell", 3).exit_code == 0
    made = desk.shared()["policy"]
    assert desk.judged("max_findings = 7\nmin_cell = 5").exit_code == 0
    assert desk.judged("max_findings = 7").exit_code == 0

    assert desk.shared()["policy"] == {**made, "max_findings": 7, "name": "policy"}


def test_it_writes_beside_the_run_unless_it_is_to_replace_it(desk: Desk, tmp_path: Path) -> None:
    policy, before = desk.policy("max_findings = 7"), desk.bytes()
    asked = ("report", desk.run, "--policy", policy, "--no-pdf")

    refused(audit(*asked), "neither --out nor --overwrite")
    assert audit(*asked, "--out", tmp_path / "judged").exit_code == 0
    refused(audit(*asked, "--out", tmp_path / "judged"), "--overwrite")
    assert desk.bytes() == before
    assert audit("verify", tmp_path / "judged", "--recompute").exit_code == 0
    assert audit(*asked, "--overwrite").exit_code == 0
    assert desk.bytes()["result.json"] == (tmp_path / "judged" / "result.json").read_bytes()


def test_an_expired_waiver_fails_and_is_told(desk: Desk) -> None:
    result = desk.judged(WAIVED.replace("9999", "2001"), "--fail-on", "error")

    assert result.exit_code == 1
    assert desk.status("waiver_expired") == "warn"
    assert desk.shared()["waivers"][0]["expired"] is True


def test_the_day_of_judging_is_that_of_the_epoch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    desk.judged(WAIVED.replace("9999", "2001"))

    assert desk.shared()["waivers"][0]["expired"] is False


def test_the_judged_run_is_sealed_again_and_validates(desk: Desk) -> None:
    desk.judged(WAIVED + '[[exclusive]]\nnodes = ["cow", "dog"]\nreason = "x"\n')
    desk.judged(WAIVED)
    manifest = json.loads((desk.run / "manifest.json").read_text())
    schema = result_schema()
    files = {p.relative_to(desk.run).as_posix() for p in desk.run.rglob("*") if p.is_file()}

    Draft202012Validator(schema).validate(desk.shared())
    assert set(listed(desk.run)) == files - {"manifest.json", "restricted/manifest.json"}
    assert all(sha256_of(desk.run / name) == sha for name, sha in listed(desk.run).items())
    assert manifest["identity"] == desk.shared()["identity"]
    assert [source["role"] for source in manifest["inputs"]].count("policy") == 1


def test_a_report_of_an_earlier_judgement_does_not_stay(desk: Desk) -> None:
    (desk.run / "report.pdf").write_bytes(b"of the earlier judgement")
    reseal(desk.run)
    desk.judged(WAIVED)

    assert not (desk.run / "report.pdf").exists()


def test_a_judged_run_leaves_its_copy_alone(desk: Desk, tmp_path: Path) -> None:
    """Tables keep their place on the disk: none may be written through a second name."""
    copy = shutil.copytree(
        desk.run, tmp_path / "copy", copy_function=lambda a, b: Path(b).hardlink_to(a)
    )
    before = {p.name: p.read_bytes() for p in copy.rglob("*") if p.is_file()}
    desk.judged(WAIVED + '[severities]\ncross_branch = "error"\n')

    assert {p.name: p.read_bytes() for p in copy.rglob("*") if p.is_file()} == before


# --- the reference ----------------------------------------------------------------------------


def test_a_judgement_may_take_a_reference_too(desk: Desk, tmp_path: Path) -> None:
    earlier = shutil.copytree(desk.run, tmp_path / "earlier")
    result = desk.judged("ratchet = true\n", "--reference", earlier, "--fail-on", "warning")

    assert result.exit_code == 0, result.output


# --- bad input --------------------------------------------------------------------------------

OWNED = 'owner = "o"\nreason = "r"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = 'x'\nsurprise = 1\n", "surprise (line 2)"),
        (f"[[waivers]]\ncheck = '*'\n{OWNED}expires = 2030-01-01\nwhose = 1\n", "line 6"),
        (
            f"[[waivers]]\ncheck = '*'\n{OWNED}expires = 2030-01-01\nadded = 2031-01-01\n",
            "waivers.0 (line 1): added 2031-01-01 must not be after expires 2030-01-01",
        ),
        (f"[[waivers]]\ncheck = '*'\n{OWNED}", "waivers.0.expires (line 1): Field required"),
        (
            f"[[waivers]]\ncheck = '*'\n{OWNED}expires = 2030-01-01\nnode = 'a'\nsubtree = 'b'\n",
            "one of node, subtree may be given",
        ),
        ("[residual_share]\nvalue = 5\nreason = 'x'\n", "residual_share (line 1): residual_share"),
        ("[severities]\nunknown_code = 'fatal'\n", "severities.unknown_code (line 2)"),
        ("[severities]\nno_such = 'note'\n", "severities: no_such"),
        (f"[[waivers]]\ncheck = '*'\nnode = 'elf'\n{OWNED}expires = 2030-01-01\n", "waivers: elf"),
        ("ratchet = true\n", "--reference"),
        ("residual_nodes = ['cow']\n", "residual_nodes differs"),
        ("ratchet = = 1\n", "line 1"),
    ],
)
def test_a_bad_policy_is_told_in_one_message(desk: Desk, text: str, told: str) -> None:
    before = desk.bytes()
    refused(desk.judged(text), told)

    assert desk.bytes() == before


@pytest.mark.parametrize("command", ["run", "report"])
def test_a_policy_that_is_not_there_is_told_before_anything_is_read(
    desk: Desk, command: str
) -> None:
    (desk.run / "restricted" / "findings.parquet").unlink()
    data: tuple[object, ...] = (desk.folder / "none.csv", "--hierarchy", "icd9cm")
    given = (desk.run,) if command == "report" else data

    refused(
        audit(command, *given, "--policy", "none.toml", "--out", desk.folder / "new"), "none.toml"
    )


@pytest.mark.parametrize("name", ["restricted/policy.json", "restricted/findings.parquet"])
def test_a_run_that_is_not_whole_is_refused(desk: Desk, name: str) -> None:
    (desk.run / name).unlink()

    refused(desk.judged("max_findings = 3\n"), name)
