"""What docstrings show of public names is what these give, and no field of theirs goes unsaid."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import audit
import reports
from audit import metrics

ROOT = Path(__file__).parents[2]
SHOWING = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for path in (ROOT / "audit").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)
PUBLIC = [getattr(home, name) for home in (audit, metrics, reports) for name in home.__all__]


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and reports of examples are written where nobody sees them."""
    monkeypatch.chdir(tmp_path)


def examples(shown: object) -> doctest.DocTest:
    """Those of the docstring of one public name."""
    names = dict(vars(import_module(str(shown.__module__))))
    (found,) = doctest.DocTestFinder(recurse=False).find(shown, globs=names)
    return found


@pytest.mark.parametrize("name", SHOWING)
def test_examples_hold(name: str) -> None:
    found = {test.name: test for test in doctest.DocTestFinder().find(import_module(name))}
    # A decorated function is not of the module that declares it, so that doctest passes it over.
    for shown in (one for one in PUBLIC if one.__module__ == name):
        found.setdefault(f"{name}.{shown.__name__}", examples(shown))
    runner = doctest.DocTestRunner()
    assert sum(runner.run(test).failed for test in found.values()) == 0


def test_what_users_call_has_an_example() -> None:
    for shown in PUBLIC:
        assert examples(shown).examples


def unsaid(record: type) -> Iterator[str]:
    """Fields and properties, inherited ones included, that neither Args nor a docstring tells."""
    for kind in record.__mro__:
        if not kind.__module__.startswith("audit."):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(tree, ast.ClassDef)
        args = re.findall(r"^ {4}(\w+): ", inspect.getdoc(kind) or "", re.MULTILINE)
        for part, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if not told and part.target.id not in args:
                    yield part.target.id


def test_every_field_of_a_public_record_is_told() -> None:
    for record in [one for one in PUBLIC if isinstance(one, type)]:
        assert [*unsaid(record)] == []
