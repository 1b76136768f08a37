"""``audit export`` to catalogues: their own programs read what is written, of a shared copy too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from audit.cli.app import app
from fixtures.sample_runs import DATED

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")

CROISSANT, EVENT = "croissant.json", "event.json"


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
    files = ("--croissant", out / CROISSANT, "--openlineage", out / EVENT)
    return audit("export", run, *files, *options)


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


def test_the_event_is_what_openlineage_itself_would_write(copy: Path, tmp_path: Path) -> None:
    events = pytest.importorskip("openlineage.client.event_v2")
    facet_v2 = pytest.importorskip("openlineage.client.facet_v2")
    serde = pytest.importorskip("openlineage.client.serde")
    metrics = facet_v2.data_quality_metrics_input_dataset
    assertions = facet_v2.data_quality_assertions_dataset
    exported(copy, tmp_path)
    event = read(tmp_path / EVENT)
    (given,) = event["inputs"]
    quality = given["inputFacets"]["dataQualityMetrics"]
    tests = given["inputFacets"]["dataQualityAssertions"]["assertions"]
    facets = {
        "dataQualityMetrics": metrics.DataQualityMetricsInputDatasetFacet(
            columnMetrics={
                name: metrics.ColumnMetrics(**column)
                for name, column in quality["columnMetrics"].items()
            },
            rowCount=quality["rowCount"],
        ),
        "dataQualityAssertions": assertions.DataQualityAssertionsDatasetFacet(
            assertions=[assertions.Assertion(**one) for one in tests]
        ),
    }
    again = events.RunEvent(
        eventTime=event["eventTime"],
        eventType=events.RunState[event["eventType"]],
        run=events.Run(event["run"]["runId"]),
        job=events.Job(**event["job"]),
        inputs=[events.InputDataset(given["namespace"], given["name"], inputFacets=facets)],
        producer=event["producer"],
    )

    assert plain(event) == plain(serde.Serde.to_dict(again))
    assert (quality["rowCount"], quality["columnMetrics"]["label"]["count"]) == (42, 40)
    failed = {one["assertion"] for one in tests if not one["success"]}
    shared = read(copy / "result.json")
    assert failed == {check["name"] for check in shared["checks"] if check["findings"]}


def plain(value: Any) -> Any:
    """A record without what is empty and without the programs' own addresses."""
    if isinstance(value, dict):
        kept = {key: plain(one) for key, one in value.items() if key != "_producer"}
        return {key: one for key, one in kept.items() if one not in ({}, [], None)}
    return [plain(one) for one in value] if isinstance(value, list) else value


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


def refusals(folder: Path) -> Iterator[tuple[str, str, str]]:
    other = {"@context": {}, "conformsTo": "http://mlcommons.org/croissant/1.0", "name": "Zoo"}
    yield "--croissant", json.dumps(other), "one of 'Zoo'"
    for content in ("no JSON", "[1]", json.dumps({"name": "Farm"})):
        yield "--croissant", content, "something else"


@pytest.mark.parametrize("case", range(4))
def test_what_is_no_earlier_export_is_left_alone(copy: Path, tmp_path: Path, case: int) -> None:
    option, content, found = [*refusals(tmp_path)][case]
    (tmp_path / "there").write_text(content)
    done = audit("export", copy, option, tmp_path / "there", "--overwrite")

    assert done.exit_code == 2
    assert f"Found: {found}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == content


def test_an_earlier_export_is_replaced_only_when_asked(copy: Path, tmp_path: Path) -> None:
    assert exported(copy, tmp_path).exit_code == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert exported(copy, tmp_path).exit_code == 2
    assert exported(copy, tmp_path, "--overwrite").exit_code == 0
    assert {file: file.read_bytes() for file in before} == before
