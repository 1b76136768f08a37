"""Data flows one way: what each room may import, and who may print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "dag": set(),
    "disclosure": set(),
    "plurals": set(),
    "progress": set(),
    "limits": {"errors"},
    "files": {"errors", "limits"},
    "engine": {"errors", "progress"},
    "integrity": set(),
    "batched": set(),
    "rules": set(),
    "guidelines": {"rules"},
    "hierarchy": {"dag", "errors", "integrity", "limits", "plurals", "rules"},
    "weighted": {"dag", "engine", "errors", "hierarchy"},
    "hierarchies": {"errors", "files", "hierarchy", "integrity", "limits", "rules"},
    "loaders": {"dag", "errors", "files", "limits"},
    "dataset": {"dag", "errors", "files", "hierarchies", "hierarchy", "limits", "loaders"}
    | {"plurals"}
    | {"weighted"},
    "disk": {"errors"},
    "sizes": {"errors"},
    "sums_file": {"dag", "disk", "engine", "errors"},
    "spill": {"engine", "errors", "sums_file"},
    "checkpoint": {"disk", "errors", "spill"},
    "contiguous": {"engine", "errors"},
    "regrouped": {"disk", "loaders"},
    "label_nodes": {"dag", "dataset", "hierarchy", "loaders"},
    "pair_count": {"dag", "dataset", "disk", "engine", "hierarchy", "label_nodes"},
    "kept_counts": {"disk", "engine", "errors", "files", "hierarchy", "label_nodes", "pair_count"}
    | {"spill", "sums_file"},
    "code_dates": {"errors", "files"},
    "policy": {"code_dates", "errors", "files", "guidelines", "rules"},
    "catch_alls": {"dag", "hierarchy"},
    "reviewed": {"dag", "hierarchy"},
    "residuals": {"catch_alls", "dag", "hierarchy", "policy", "reviewed"},
    "added_counts": {"dag", "engine", "errors", "label_nodes", "pair_count"},
    "plan": {"added_counts", "dag", "engine", "hierarchy", "label_nodes", "pair_count", "policy"}
    | {"residuals"},
    "counting": {"checkpoint", "contiguous", "dag", "engine", "pair_count", "plan", "spill"},
    "stream": {"added_counts", "checkpoint", "counting", "disk", "engine", "errors"}
    | {"hierarchies", "hierarchy", "label_nodes", "loaders", "pair_count", "plan", "policy"}
    | {"progress", "regrouped", "spill"},
    "spark_tasks": {"batched", "counting", "dag", "engine", "label_nodes", "loaders", "pair_count"}
    | {"plan", "spill", "sums_file"},
    "spark": {"added_counts", "hierarchies", "hierarchy", "label_nodes", "pair_count", "plan"}
    | {"policy", "progress", "spark_tasks"},
    "spark_session": {"errors", "loaders"},
    "record_rows": {"dag", "dataset", "engine"},
    "predictions": {"dag", "dataset", "errors", "hierarchy", "loaders", "plurals", "policy"}
    | {"weighted"},
    "pair_table": {"dag", "engine", "hierarchy"},
    "verdicts": {"dag", "engine"},
    "rule_book": {"dag", "errors", "hierarchy", "policy", "rules"},
    "reported_pairs": {"dag", "engine", "hierarchy", "verdicts"},
    "branch_map": {"dag", "engine", "reported_pairs"},
    "excess": {"branch_map", "dag", "engine", "hierarchy", "policy", "progress", "reported_pairs"}
    | {"rule_book", "verdicts"},
    "metrics": {"dag", "engine", "errors", "hierarchy", "pair_table", "progress"},
    "measure_model": {"dag", "dataset", "engine", "hierarchy", "metrics", "pair_table", "policy"}
    | {"predictions", "progress"},
    "branch_exchanges": {"dag", "engine", "hierarchy"},
    "residual_use": {"dag", "dataset", "engine", "hierarchy", "residuals"},
    "validity": {"code_dates", "dataset", "errors", "hierarchy", "policy"},
    "measure": {"dag", "dataset", "engine", "excess", "hierarchy", "measure_model", "pair_table"}
    | {"policy", "predictions", "progress", "record_rows", "residual_use", "residuals"}
    | {"reviewed", "validity"},
    "measure_counts": {"disk", "engine", "excess", "measure", "pair_count", "pair_table", "policy"}
    | {"progress", "residual_use", "residuals", "validity", "verdicts"},
    "residual_differences": {"dag", "engine", "measure", "residual_use"},
    "drift": {"dag", "engine", "measure"},
    "coverage": {"disclosure"},
    "overview": {"disclosure"},
    "model_overview": {"disclosure", "overview", "pair_table"},
    "published": {"disclosure", "overview"},
    "since_reference": {"disclosure"},
    "result": {"coverage", "disclosure", "model_overview", "overview", "plurals", "published"}
    | {"since_reference"},
    "earlier_table": {"disclosure"},
    "checks": {"dag", "dataset", "disclosure", "engine", "hierarchy", "integrity", "measure"}
    | {"measure_model", "policy", "residual_differences", "residual_use", "result", "rule_book"}
    | {"rules", "validity"},
    "preference": {"dag", "engine", "errors", "files", "hierarchies", "hierarchy", "metrics"},
    "judge": {"checks", "disclosure", "engine", "errors", "policy", "result", "rules"}
    | {"since_reference"},
    "cases": set(),
    "run": {
        "branch_exchanges",
        "cases",
        "checks",
        "dataset",
        "drift",
        "errors",
        "files",
        "hierarchy",
    }
    | {"judge", "measure"}
    | {"measure_counts", "measure_model", "pair_count"}
    | {"pair_table", "policy", "predictions", "progress", "result", "rule_book", "validity"},
    "run_folder": {"disclosure", "disk", "earlier_table", "errors", "files", "result"},
    "case_lists": {"engine", "errors", "result"},
    "wrong_hierarchy": {"dataset", "errors", "hierarchies", "hierarchy", "plurals"}
    | {"predictions"},
    "settings": {"dataset", "engine", "hierarchies", "hierarchy", "judge", "loaders", "policy"}
    | {"predictions", "progress", "result", "run", "run_folder", "wrong_hierarchy"},
    "instances": {"dataset", "errors", "hierarchy", "predictions", "run_folder", "weighted"},
    "compare": {"dag", "disclosure", "engine", "errors", "files", "judge", "plurals", "published"}
    | {"result", "run_folder"},
    "sealed": {"compare", "errors", "files", "result", "run_folder", "settings"},
    "audited": {
        "disk",
        "sealed",
        "checkpoint",
        "errors",
        "files",
        "hierarchies",
        "hierarchy",
        "instances",
        "judge",
    }
    | {"kept_counts", "loaders", "pair_count", "plan", "policy", "progress", "result", "run"}
    | {"run_folder", "settings", "spark", "spark_session", "stream", "wrong_hierarchy"},
    "reported": set(),
    "verify": {"audited", "errors", "files", "policy", "reported", "result", "run_folder", "sealed"}
    | {"settings"},
    "terminal": {"case_lists", "errors", "plurals", "preference", "progress", "verify"},
    "cli": {
        "audited",
        "case_lists",
        "checks",
        "compare",
        "errors",
        "hierarchies",
        "instances",
        "judge",
    }
    | {"loaders", "metrics", "plurals", "preference", "progress", "reports", "result"}
    | {"run_folder", "settings", "sizes", "terminal", "verify"},
}
"""Rooms and files of ``audit``, in the order in which data flows through them."""

REPORTS_MAY_IMPORT = {"result", "errors", "plurals"}
HEAVY = (
    "polars",
    "numpy",
    "scipy",
    "networkx",
    "pyarrow",
    "altair",
    "weasyprint",
    "torch",
    "vl_convert",
)
LIGHT = ("__init__", "cli", "errors")
"""Files that everything begins with; they import nothing heavy, not even inside a function."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def room(module: str) -> str:
    """``audit.engine.pairs`` belongs to ``engine``; ``reports.html`` to ``reports``."""
    first, *rest = module.split(".")
    return rest[0] if first == "audit" and rest else first


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "audit").with_suffix("").parts[0]


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports anywhere, those under TYPE_CHECKING included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            own = module in ("audit", "reports")
            yield from (f"{module}.{alias.name}" for alias in node.names) if own else (module,)


def own_imports(path: Path) -> set[str]:
    return {module for module in imported(path) if module.split(".")[0] in ("audit", "reports")}


@pytest.mark.parametrize("path", modules("audit"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_what_flows_into_it(path: Path) -> None:
    here = room_of(path)
    if here == "__init__":
        return
    rooms = {room(module) for module in own_imports(path)}

    assert here in MAY_IMPORT, f"{here} is a new room: say here what it may import"
    assert rooms - {here} <= MAY_IMPORT[here]


def test_no_room_flows_back() -> None:
    order = list(MAY_IMPORT)
    for here, others in MAY_IMPORT.items():
        known = others & set(order)
        assert all(order.index(other) < order.index(here) for other in known), here


@pytest.mark.parametrize("path", modules("reports"), ids=lambda p: str(p.relative_to(ROOT)))
def test_reports_know_results_and_errors_alone(path: Path) -> None:
    rooms = {room(module) for module in own_imports(path)}

    assert rooms - {"reports"} <= REPORTS_MAY_IMPORT


def test_only_the_command_line_knows_reports() -> None:
    knowing = [
        path.name for path in modules("audit") if "reports" in {room(m) for m in own_imports(path)}
    ]

    assert knowing == ["cli.py"]


PRINTING = ("print", "typer.echo", "console.print", "sys.stdout.write", "sys.stderr.write")


def prints(path: Path) -> bool:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return not called.isdisjoint(PRINTING)


def knowing(*packages: str) -> list[str]:
    every = (*modules("audit"), *modules("reports"))
    return [p.name for p in every if {m.split(".")[0] for m in imported(p)} & set(packages)]


def test_only_the_command_line_prints() -> None:
    printing = [path.name for path in (*modules("audit"), *modules("reports")) if prints(path)]

    assert printing == ["cli.py"]
    assert knowing("typer") == ["cli.py"]
    assert knowing("rich") == ["cli.py", "terminal.py"]


@pytest.mark.parametrize("name", LIGHT)
def test_what_everything_begins_with_imports_nothing_heavy(name: str) -> None:
    heavy = {m for m in imported(ROOT / "audit" / f"{name}.py") if m.split(".")[0] in HEAVY}

    assert heavy == set()


def test_numbers_make_no_html() -> None:
    for path in modules("audit"):
        assert not {
            m
            for m in imported(path)
            if m.split(".")[0] in ("jinja2", "html", "weasyprint") and m != "html.parser"
        }


def test_the_product_knows_nothing_of_its_tests() -> None:
    for path in (*modules("audit"), *modules("reports")):
        assert not {m for m in imported(path) if m.split(".")[0] in ("tests", "fixtures", "pytest")}


def test_nothing_is_unpickled() -> None:
    unsafe = ("pickle", "joblib", "dill", "marshal", "shelve")
    for path in (*modules("audit"), *modules("reports")):
        assert not {m for m in imported(path) if m.split(".")[0] in unsafe}, path
