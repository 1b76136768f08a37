"""What all tests share: how Hypothesis runs, and the toy hierarchy."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from typer import testing

from audit import Hierarchy
from fixtures.once import filled_once
from fixtures.shards import SHARDS, shards
from fixtures.toy import EDGES, toy

# Commands say more where GitHub runs them; tests that want it say so.
for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(name, None)

# Hypothesis also draws constants from the source of the modules that are loaded. Which these are
# depends on the folder of the clone and on the tests before, so nobody could repeat an example.
providers._get_local_constants = providers.Constants

# A program builds its commands once; typer builds them anew for each command that a test runs.
testing._get_command = cache(testing._get_command)

# Everybody draws the same examples, `make test` the first few of them; `make explore` draws others,
# by a seed that it prints.
settings.register_profile(
    "same",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", settings.get_profile("same"), max_examples=200, derandomize=False
)
settings.register_profile("few", settings.get_profile("same"), max_examples=6)
settings.load_profile("same")


collect_ignore: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", type=int, choices=range(SHARDS), help="an eighth of the files")


def pytest_configure(config: pytest.Config) -> None:
    if (shard := config.getoption("--shard")) is not None:
        collect_ignore.extend(str(path) for path, own in shards().items() if own != shard)


@pytest.hookimpl(optionalhook=True)  # tests of mutants run without workers
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: a browser, a server or a disk is often waited for.

    Quick tests wait for none, and each worker imports and collects all of them.
    """
    return (os.cpu_count() or 1) + (config.option.markexpr != "not slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end; to look for garbage among it takes seconds each time.

    Nor is it looked for each time that seven hundred things are made.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


@pytest.fixture(scope="session")
def toy_hierarchy() -> Hierarchy:
    return toy()


@pytest.fixture(scope="session")
def sample_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of `first`, `second` and `comparison`: audits of the sample data."""
    from fixtures.sample_runs import write_sample_runs

    return filled_once("sample_runs", write_sample_runs, tmp_path_factory)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three small releases and of runs of them, from `write_small_runs`."""
    from fixtures.small_release import write_small_runs

    return filled_once("small_runs", write_small_runs, tmp_path_factory)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads that wait for each other make small models slow where other tests run beside."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def toy_files(tmp_path: Path) -> tuple[Path, Path]:
    """An edges file of the toy and a long file of labels, with what an audit has to tell."""
    hierarchy, labels = tmp_path / "toy.csv", tmp_path / "labels.csv"
    edges = [",".join(edge) for edge in EDGES]
    hierarchy.write_text("child,parent\n" + "\n".join(edges) + "\n")
    rows = ["a,dog", "a,cow", "b,dog", "c,tool", "c,bird", "d,cow", "d,cow", "e,unicorn", "f,pet"]
    labels.write_text("instance,label\n" + "\n".join(rows) + "\n")
    return labels, hierarchy
