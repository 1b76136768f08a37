"""``audit export --croissant``: its own program reads what is written, of a shared copy too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from audit.cli.app import app
from fixtures.sample_runs import DATED

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")

CROISSANT = "croissant.json"


def audit(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env=DATED)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without ``restricted/``."""
    folder = tmp_path_factory.mktemp("travels")
    (folder / "animals.csv").write_text("child,parent\ndog,animal\ncow,animal\n")
    rows = [f"i{place},{'dog' if place % 2 else 'cow'}" for place in range(40)]
    (folder / "labels.csv").write_text("\n".join(["instance,label", *rows, "i7,dgo", "i8,"]) + "\n")
    made = ("--hierarchy", folder / "animals.csv", "--out", folder / "run", "--no-pdf")
    assert audit("run", folder / "labels.csv", *made, "--title", "Farm").exit_code == 0
    shutil.rmtree(folder / "run" / "restricted")
    return folder / "run"


def exported(run: Path, out: Path, *options: object) -> Result:
    return audit("export", run, "--croissant", out / CROISSANT, *options)


def read(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def test_croissant_is_valid_and_says_what_was_measured(copy: Path, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    assert exported(copy, tmp_path).exit_code == 0
    described = mlcroissant.Dataset(tmp_path / CROISSANT).metadata
    shared = read(copy / "result.json")
    statements = [one["statement"] for check in shared["checks"] for one in check["findings"]]

    assert not described.ctx.issues.errors
    assert described.name == "Farm"
    assert statements
    assert sorted(described.data_biases) == sorted(statements)
    assert "40 of 42 rows" in described.data_collection_missing_data
    assert described.annotations_per_item.startswith("40 instances;")


def test_the_publisher_s_description_keeps_what_an_audit_does_not_say(
    copy: Path, tmp_path: Path
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    exported(copy, tmp_path)
    published = read(tmp_path / CROISSANT)
    published |= {"license": "CC0", "description": "Ours.", "rai:dataBiases": ["None known."]}
    published["conformsTo"] = "http://mlcommons.org/croissant/1.0"
    (tmp_path / CROISSANT).write_text(json.dumps(published))
    assert exported(copy, tmp_path, "--overwrite").exit_code == 0
    again = read(tmp_path / CROISSANT)

    assert (again["license"], again["description"]) == ("CC0", "Ours.")
    assert "None known." not in again["rai:dataBiases"]
    assert not mlcroissant.Dataset(tmp_path / CROISSANT).metadata.ctx.issues.errors


OTHER = {"@context": {}, "conformsTo": "http://mlcommons.org/croissant/1.0", "name": "Zoo"}
