"""What docstrings show of functions is what these give."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import audit
from audit import metrics

ROOT = Path(__file__).parents[1]
SHOWING = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for path in (ROOT / "audit").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", SHOWING)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize(
    "shown",
    [
        *(getattr(metrics, name) for name in metrics.__all__),
        *(audit.compare_runs, audit.limits, audit.suppress),
    ],
    ids=lambda shown: shown.__name__,
)
def test_what_users_call_has_an_example_that_holds(shown: object) -> None:
    # A decorated function is not of the module that declares it, so that doctest passes it over.
    globs = dict(vars(import_module(str(shown.__module__))))
    (test,) = doctest.DocTestFinder(recurse=False).find(shown, globs=globs)
    result = doctest.DocTestRunner().run(test)
    assert (result.attempted > 0, result.failed) == (True, 0)
