"""Data flows one way: what each room may import, and who may print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx

ROOT = Path(__file__).parents[2]

FLOORS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("engine", "policy"),
    ("hierarchies", "sharing"),
    ("data",),
    ("counting",),
    ("results",),
    ("alignment",),
    ("measure",),
    ("checks",),
    ("analyses",),
    ("runs",),
    ("explorer",),
    ("cli",),
)
"""The rooms of ``audit``, the ground floor first; a room imports from the floors below its own."""

OWN = ("audit",)
DOORS = {"__init__", "__main__", "metrics"}
"""Files beside the rooms: what `import audit`, `python -m audit` and `audit.metrics` give."""
REPORTS = "reports"
REPORTS_MAY_IMPORT = {"results", "sharing", "base"}
MAY_IMPORT_REPORTS = {"explorer", "cli"}
HEAVY = ("polars", "numpy", "scipy", "networkx", "pyarrow", "weasyprint", "torch")
LIGHT = (
    "__init__",
    "base/errors",
    *(f"cli/{path.stem}" for path in (ROOT / "audit/cli").glob("*.py") if path.stem != "terminal"),
)
"""Files that everything begins with; they import nothing heavy, not even inside a function."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def room(module: str) -> str:
    """``audit.engine.pairs.pair_counts`` belongs to ``engine``."""
    first, *rest = module.split(".")
    return rest[0] if first == "audit" and rest else first


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "audit").with_suffix("").parts[0]


@cache
def parts(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Modules that a file imports anywhere, those under TYPE_CHECKING included.

    What is imported from one of our own is named too, since it may be a module.
    """
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in parts(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            if module.split(".")[0] in OWN:
                yield from (f"{module}.{alias.name}" for alias in node.names)
            if module not in OWN:
                yield module


def own_imports(path: Path) -> set[str]:
    return {module for module in imported(path) if module.split(".")[0] in OWN}


def below(here: str) -> set[str]:
    floor = next(number for number, rooms in enumerate(FLOORS) if here in rooms)
    return {room for rooms in FLOORS[:floor] for room in rooms}


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(path) for path in modules("audit")}

    assert sorted(rooms - DOORS) == sorted(room for floor in FLOORS for room in floor)


def test_nothing_lies_outside_the_rooms() -> None:
    files = {path.name for path in (ROOT / "audit").iterdir() if path.is_file()}

    assert files == {"py.typed", *(f"{door}.py" for door in DOORS)}


def test_a_room_imports_only_what_lies_below_it() -> None:
    for path in modules("audit"):
        here = room_of(path)
        if here not in DOORS:
            assert {*map(room, own_imports(path))} <= below(here) | {here}, path


def test_an_analysis_imports_no_other() -> None:
    of = "audit.analyses."
    for path in modules("audit/analyses"):
        here = module_of(path).removeprefix(of).split(".")[0]
        others = {one.removeprefix(of).split(".")[0] for one in imported(path) if of in one}
        shared = {path.stem for path in (ROOT / "audit/analyses").glob("*.py")}
        assert others <= {here} | shared, path


def test_reports_know_results_and_errors_alone() -> None:
    for path in modules("reports"):
        assert {*map(room, own_imports(path))} <= REPORTS_MAY_IMPORT, path


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def circles() -> set[frozenset[str]]:
    """Modules that import each other, directly or by others, whether in a function or for types."""
    paths = {module_of(path): path for path in modules("audit")}
    edges = networkx.DiGraph(
        (module, other)
        for module, path in paths.items()
        for other in imported(path)
        if other in paths and other != module
    )
    assert edges.number_of_edges() > len(paths)
    together = networkx.strongly_connected_components(edges)
    return {frozenset(circle) for circle in together if len(circle) > 1}


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert circles() == set()


def test_only_applications_know_reports() -> None:
    knowing = {
        room_of(path)
        for path in modules("audit")
        if any(one.partition(".")[0] == REPORTS for one in imported(path))
    }

    assert knowing == MAY_IMPORT_REPORTS


ANALYSES = ("explanation", "concept", "entailment")
APART = ("analyses", "cli")
"""Rooms that may name an analysis: those of analyses, and that of commands."""
TUPLE = "audit/runs/analyses.py"
EQUATION_4 = "concept_confusion"


def names_in(path: Path) -> Iterator[str]:
    """All that a file imports and defines, and all that it calls by a name."""
    yield from imported(path)
    for node in parts(path):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
                yield name
            case ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.alias(asname=str(name)):
                yield name


def test_the_core_names_no_analysis() -> None:
    core = [path for path in modules("audit") if room_of(path) not in (*APART, REPORTS)]
    core.remove(ROOT / "audit" / "__init__.py")  # the public names, those of analyses among them
    named = {
        str(path.relative_to(ROOT)): name
        for path in core
        for name in names_in(path)
        if name.split(".")[-1] != EQUATION_4 and any(one in name.lower() for one in ANALYSES)
    }

    assert len(core) > 200
    assert set(named) == {TUPLE}, named


PRINTING = ("print", "typer.echo", "console.print", "sys.stdout.write", "sys.stderr.write")


def prints(path: Path) -> bool:
    called = {ast.unparse(node.func) for node in parts(path) if isinstance(node, ast.Call)}
    return not called.isdisjoint(PRINTING)


def test_only_the_command_line_prints() -> None:
    talking = ("typer", "rich")
    for path in modules("audit"):
        in_cli = path.is_relative_to(ROOT / "audit" / "cli")
        assert in_cli or not prints(path), path
        assert in_cli or not {m for m in imported(path) if m.split(".")[0] in talking}, path


def test_what_everything_begins_with_imports_nothing_heavy() -> None:
    for name in LIGHT:
        names = imported(ROOT / "audit" / f"{name}.py")
        assert {m for m in names if m.split(".")[0] in HEAVY} == set(), name


def test_numbers_make_no_html() -> None:
    for path in modules("audit"):
        assert room_of(path) in ("explorer", REPORTS) or not {
            m
            for m in imported(path)
            if m.split(".")[0] in ("jinja2", "html", "weasyprint") and m != "html.parser"
        }


def test_the_product_knows_nothing_of_its_tests() -> None:
    for path in modules("audit"):
        assert not {m for m in imported(path) if m.split(".")[0] in ("tests", "fixtures", "pytest")}


def test_nothing_is_unpickled() -> None:
    unsafe = ("pickle", "joblib", "dill", "marshal", "shelve")
    for path in modules("audit"):
        assert not {m for m in imported(path) if m.split(".")[0] in unsafe}, path


LONGEST = 60
"""Number of lines that a function may have, without those that say what it does."""


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file, methods and inner ones included, and its number of lines."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in parts(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = len((ast.get_docstring(node) or "").splitlines())
            yield f"{module}.{node.name}", (node.end_lineno or 0) - node.lineno + 1 - said


def test_functions_are_short() -> None:
    lengths = [one for path in modules("audit") for one in functions(path)]

    assert len(lengths) > 1000
    assert {name for name, lines in lengths if lines > LONGEST} == set()


def test_files_and_folders_are_small() -> None:
    folders = {path.parent for path in modules("audit")}
    rooms = [path for path in (ROOT / "audit").iterdir() if (path / "__init__.py").exists()]
    lines = {path: path.read_text("utf-8").count("\n") for path in modules("audit")}

    assert len(rooms) <= 18
    assert [path for path, n in lines.items() if n > 400] == []
    assert [one for one in folders if len(list(one.glob("*.py"))) > 30] == []


FOREIGN = {
    "base": "databases remote stored_tables json_tables",
    "data/published": "fhir meds omop events",
    "hierarchies/formats": "wordnet",
}
"""Files that each read one foreign place or form."""


def test_a_door_is_one_short_file() -> None:
    doors = [
        ROOT / "audit" / room / f"{name}.py" for room in FOREIGN for name in FOREIGN[room].split()
    ]

    assert {door for door in doors if door.read_text("utf-8").count("\n") > 270} == set()
