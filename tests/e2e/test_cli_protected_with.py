"""``audit run --protected-with``: what a run keeps, what stays when judged, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from audit.disclosure import Known
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.read import read_run
from fixtures.commands import audit
from fixtures.reader import told_together

EDGES = "lung,body heart,body asthma,lung other_lung,lung attack,heart other_heart,heart"
INSTANCES: Sequence[tuple[int, Sequence[str]]] = (
    (3, ["asthma", "other_heart", "other_lung"]),
    (24, ["other_lung"]),
    (29, ["attack", "other_lung"]),
    (4, ["asthma", "attack", "other_lung"]),
    (36, ["asthma"]),
)
"""Seven instances have both children of the lung, which each of two policies withholds in part."""
POLICY = """
min_cell = 9
least_joint = { value = %s, reason = "Given." }
excess_ratio = { value = %s, reason = "Given." }
false_discovery_rate = { value = 0.9, reason = "Given." }
"""


class Desk:
    """A release and two policies, and a run by the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("body.csv", "child,parent\n" + EDGES.replace(" ", "\n") + "\n")
        self.write("much.toml", POLICY % (2, 1))
        self.write("little.toml", POLICY % (9, 9))
        self.write("strict.toml", "max_findings = 1\n" + POLICY % (2, 1))
        self.labels("labels.csv", INSTANCES)
        assert self.run("first", policy="much").exit_code == 0

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def labels(self, name: str, instances: Sequence[tuple[int, Sequence[str]]]) -> None:
        sets = [labels for times, labels in instances for _ in range(times)]
        rows = [f"i{i},{label}" for i, labels in enumerate(sets) for label in labels]
        self.write(name, "\n".join(["instance,label", *rows]) + "\n")

    def run(
        self,
        out: str,
        *options: object,
        policy: str = "little",
        data: str = "labels.csv",
        hierarchy: str = "body.csv",
    ) -> Result:
        place = self.folder
        inputs = (place / data, "--hierarchy", place / hierarchy)
        return audit(
            *("run", *inputs, "--policy", place / f"{policy}.toml"),
            *("--out", place / out, "--no-pdf", *options),
        )

    def beside(self, out: str, *options: object, **inputs: str) -> Result:
        return self.run(out, "--protected-with", self.folder / "first", *options, **inputs)

    def read(self, run: str) -> AuditResult:
        return read_run(self.folder / run)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    assert desk.run("alone").exit_code == 0
    done = desk.beside("second")
    assert done.exit_code == 0, done.output
    return desk


@pytest.fixture
def desk(made: Desk, tmp_path: Path) -> Desk:
    """A copy, of which no recorded path is used."""
    copy = Desk.__new__(Desk)
    copy.folder = Path(shutil.copytree(made.folder, tmp_path / "desk"))
    return copy


def verdicts(run: Path, *options: object) -> dict[str, str]:
    done = audit("verify", run, "--json", *options)
    return {one["name"]: one["outcome"] for one in json.loads(done.stdout)["verdicts"]}


@pytest.mark.slow
def test_both_views_together_tell_no_more_than_one(made: Desk) -> None:
    first = made.read("first")

    assert told_together(first, made.read("alone")) != []
    assert told_together(first, made.read("second")) == []


def test_a_run_keeps_what_it_is_protected_with(made: Desk) -> None:
    result, run = made.read("second"), made.folder / "second"
    listed = json.loads((run / "manifest.json").read_text())

    assert to_json_bytes(result.shared()) == (run / "result.json").read_bytes()
    assert result.known == made.read("first").view.as_other_view()
    assert listed["settings"]["protected_with"] == [str(made.folder / "first")]
    assert "protected_with" in [one["role"] for one in listed["inputs"]]
    assert made.read("alone").known == Known()


def test_it_is_made_again_from_its_inputs(made: Desk) -> None:
    told = verdicts(made.folder / "second", "--recompute")

    assert told["recomputation"] == told["tables"] == "holds"


def test_a_judged_run_is_still_protected(desk: Desk) -> None:
    run = desk.folder / "second"
    judged = audit(
        "report", run, "--overwrite", "--policy", desk.folder / "strict.toml", "--no-pdf"
    )
    again = audit("report", run, "--no-pdf")

    assert judged.exit_code == 2, "limits that need counting are refused"
    assert again.exit_code == 0
    desk.write("few.toml", "max_findings = 1\n" + POLICY % (9, 9))
    judged = audit("report", run, "--overwrite", "--policy", desk.folder / "few.toml", "--no-pdf")
    assert judged.exit_code == 0, judged.output
    assert desk.read("second").known != Known()
    assert told_together(desk.read("first"), desk.read("second")) == []
    assert verdicts(run, "--recompute")["recomputation"] == "holds"


def test_a_third_view_is_protected_with_all_before(made: Desk, tmp_path: Path) -> None:
    done = made.run(
        str(tmp_path / "third"), "--protected-with", made.folder / "second", policy="strict"
    )
    assert done.exit_code == 0, done.output
    views = [made.read("first"), made.read("second"), read_run(tmp_path / "third")]

    assert told_together(*views) == []


def test_counts_in_batches_are_protected_alike(made: Desk, tmp_path: Path) -> None:
    done = made.beside(str(tmp_path / "counted"), "--memory", "50MB")

    assert done.exit_code == 0, done.output
    assert told_together(made.read("first"), read_run(tmp_path / "counted")) == []


@pytest.mark.slow
def test_it_stands_beside_a_reference(made: Desk, tmp_path: Path) -> None:
    made.labels("earlier.csv", [(times - 2, labels) for times, labels in INSTANCES if times > 9])
    assert made.run("earlier", data="earlier.csv").exit_code == 0
    out = tmp_path / "both"
    done = made.beside(str(out), "--reference", made.folder / "earlier")
    assert done.exit_code == 0, done.output
    result = read_run(out)

    assert result.known.earlier
    assert result.known.numbers
    assert told_together(made.read("first"), result) == []
    assert verdicts(out, "--recompute")["recomputation"] == "holds"


OTHERS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "data": ({"data": "other.csv"}, "other data"),
    "hierarchy": ({"hierarchy": "other_body.csv"}, "other hierarchy"),
    "residual nodes": ({"policy": "specific"}, "residual in one of the two"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_of_other_data_is_refused(what: str, desk: Desk) -> None:
    desk.labels("other.csv", [*INSTANCES, (1, ["asthma"])])
    desk.write("other_body.csv", "child,parent\n" + EDGES.replace(" ", "\n") + "\nflu,lung\n")
    desk.write("specific.toml", 'residual_nodes = ["asthma"]\n' + POLICY % (9, 9))
    inputs, told = OTHERS[what]
    done = desk.beside("refused", **inputs)

    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert told in done.stderr
    assert not (desk.folder / "refused").exists()


def test_a_run_that_changed_is_refused(desk: Desk) -> None:
    shared: dict[str, Any] = json.loads((desk.folder / "first" / "result.json").read_text())
    (desk.folder / "first" / "result.json").write_text(json.dumps(shared))
    done = desk.beside("refused")

    assert done.exit_code == 2
    assert "first" in done.stderr
