"""The public surface: a dozen names, resolved lazily."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import audit
import reports

ROOT = Path(__file__).parents[2]
HEAVY = ("polars", "numpy", "scipy", "networkx", "pyarrow", "weasyprint", "torch")


def loaded_by(code: str) -> set[str]:
    """Heavy packages that a fresh interpreter has loaded after some code."""
    told = f"import sys\n{code}\nprint([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(ast_list(done.stderr))


def ast_list(text: str) -> list[str]:
    import ast

    found: list[str] = ast.literal_eval(text.strip().splitlines()[-1])
    return found


def test_all_names_are_sorted_and_complete() -> None:
    assert audit.__all__ == sorted(audit.__all__)
    assert set(audit.__all__) == {
        "AuditError", "AuditResult", "CheckResult", "Comparison", "Finding", "Hierarchy",
        "LabelDataset", "Policy", "Predictions", "WeightedDag", "attributions", "compare_runs",
        "limits", "load_hierarchy", "load_labels", "load_policy", "load_predictions", "read_run",
        "run_audit", "verify_run", "write_run",
    }  # fmt: skip
    assert reports.__all__ == [
        "show", "write_comparison", "write_html", "write_pdf",
    ]  # fmt: skip


def test_every_name_resolves_to_what_says_so() -> None:
    for name in audit.__all__:
        value = getattr(audit, name)

        assert value.__name__ == name
        assert value.__doc__
        assert value.__module__.startswith("audit.")
        assert f":: audit.{name}\n" in (ROOT / "docs" / "api.md").read_text("utf-8")


def test_names_type_checkers_see_are_those_that_resolve() -> None:
    assert set(audit._HOME) == set(audit.__all__)
    assert set(audit.__all__) <= set(dir(audit))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        audit.no_such_name  # noqa: B018


MISTAKEN = """\
import audit
from audit.metrics import hierarchical_f1

audit.__version__.upper()
hierarchical_f1(["cat"], ["dog"], hierarchy={"cat": "animal", "dog": "animal"}).hex()
audit.load_labls("labels.csv", "icd9cm")
audit.metrics.hierarchical_f2
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker",
    [("mypy", "--strict", "--cache-dir=cache", "--follow-imports=silent"), ("pyright",)],
    ids=lambda checker: checker[0],
)
def test_a_type_checker_knows_which_names_there_are(
    tmp_path: Path, checker: tuple[str, ...]
) -> None:
    pytest.importorskip(checker[0])
    (tmp_path / "mistaken.py").write_text(MISTAKEN, "utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *checker, "mistaken.py"], cwd=tmp_path, capture_output=True,
        env={**os.environ, "MYPYPATH": str(ROOT)}, text=True, check=False,
    )  # fmt: skip
    told = re.findall(r"mistaken\.py:(\d+)(?::\d+ -)?.*error", done.stdout)

    assert told == ["6", "7"], done.stdout
    assert "load_labls" in done.stdout


def test_metrics_are_a_module_that_is_imported_by_name() -> None:
    from audit.metrics import hierarchical_f1

    assert audit.metrics.hierarchical_f1 is hierarchical_f1
    assert "numpy" not in loaded_by("import audit; audit.__version__")


TWICE = """\
import reports
from audit.cli import app
from reports import page

ours = [m for n, m in sys.modules.items() if n.partition(".")[0] in ("audit", "reports")]
assert len(ours) > 20
assert len({m.__file__ for m in ours}) == len(ours)
"""


def test_reports_are_their_room_under_a_public_name() -> None:
    loaded_by(TWICE)


def test_importing_it_loads_nothing_heavy() -> None:
    assert loaded_by("import audit, reports") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["report", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import contextlib, io\nfrom audit.cli.app import app\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    app({arguments!r})"
    )

    assert loaded_by(code) == set()


def test_a_name_loads_what_it_needs_on_first_use() -> None:
    assert "polars" in loaded_by("import audit; audit.Hierarchy")


def test_numbers_by_name_are_those_of_the_shared_view_each_under_a_name_of_its_own() -> None:
    tree = {"top": {"a?": {"x": {}, "y": {}}, "a!": {"z": {}, "w": {}}}}
    rows = pl.DataFrame({"id": [f"i{n}" for n in range(80)], "label": ["x", "y", "z", "w"] * 20})
    dataset = audit.load_labels(rows, tree)
    result = audit.run_audit(dataset, predictions=audit.load_predictions(rows, dataset))
    numbers, shared = result.as_metrics(), result.shared()
    told = [one for one in shared["metrics"] if one["value"] is not None]
    checks = [one for one in shared["checks"] if one["status"] != "not_applicable"]
    f1 = "metric/hierarchical_f1/a_/average_micro"

    assert len(numbers) == 1 + len(checks) + len(told)
    assert numbers["instances"] == 80
    assert {numbers[f"findings/{one['name']}"] for one in checks} == {
        one["total"] for one in checks
    }
    assert numbers[f1] == numbers[f"{f1}_again1"] == 1
