"""Packages of others: used where they are named alone, told of, and never crashing the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import audit
from audit import AuditError, AuditResult, Policy
from fixtures.doors import command
from fixtures.labelled import labelled, tree
from fixtures.plugins import install, installed
from fixtures.registered import DOORS

TREE = tree("cat dog < mammal", "mammal owl < animal")
LABELS = {f"i{n}": ["cat" if n < 30 else "owl"] for n in range(40)}
PICTURES = "picture,animals\na,cat//dog\nb,owl//cat\nc,dog\n"
Make: TypeAlias = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Installs a plugin and gives its name."""
    with installed(tmp_path):
        yield partial(install, tmp_path)


def audited(name: str, min_cell: int = 11) -> AuditResult:
    data, policy = labelled(TREE, LABELS), Policy(min_cell=min_cell)
    return audit.run_audit(data, policy, plugins=[name])


def findings(result: AuditResult) -> list[dict[str, Any]]:
    checks = result.shared()["checks"]
    return next(check["findings"] for check in checks if check["name"] == "common_node")


def run(*arguments: object) -> tuple[int, str]:
    done = command(*arguments)
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done.exit_code, done.output


def test_it_is_listed_without_being_loaded(make: Make) -> None:
    name = make(("import numpy as np", "raise SystemExit('loaded')"))

    lines = [line.split() for line in run("list", "plugins")[1].splitlines()]
    assert [line[1:] for line in lines if line[:1] == [name]] == [
        ["2.5", f"{door}:", "it"] for door in DOORS
    ]
    assert name not in sys.modules


def test_each_door_opens_only_where_it_is_named(make: Make, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(PICTURES)
    name, data = make(), tmp_path / "x.csv"
    labels = audit.load_labels(data, "animals", plugins=[name])

    assert labels.format == "pictures"
    assert labels.instances["instance"].to_list() == ["a", "b", "c"]
    for given in ("animals", audit.load_hierarchy("animals", plugins=name)):
        with pytest.raises(audit.AuditError, match=r"required|is not certain"):
            audit.load_labels(data, given)
    result, without = audited(name), audit.run_audit(labelled(TREE, LABELS))
    assert "common_node" not in {check["name"] for check in without.shared()["checks"]}
    exact = result.exact()["analyses"]["lengths"]
    assert exact["by_length"] == [{"labels": 1, "instances": 40}]
    code = f"{name}.py"
    listed = f"{code} {sha256((tmp_path / code).read_bytes()).hexdigest()}\n".encode()
    record = {
        "role": "plugin",
        "path": name,
        "version": "2.5",
        "sha256": sha256(listed).hexdigest(),
    }
    assert [one for one in result.inputs if one["role"] == "plugin"] == [record]
    assert any(f"the plugin {name} 2.5 is used" in one["decision"] for one in result.readings)


CRASH = "\n    raise KeyError('of the plugin')\n"
CRASHES = {
    "load": ("import numpy as np", "import no_such_module"),
    "exit": ("import numpy as np", "raise SystemExit(0)"),
    "made": ('    name: ClassVar[str] = "lengths"', f"    def __init__(self):{CRASH}"),
    "check": ('"""Report nodes', f"0;{CRASH}"),
    "measure": ('"""Count instances', f"0\n        raise ZeroDivisionError{'#'}"),
    "hierarchy": ("def _animals() -> Hierarchy:", f"def _animals():{CRASH}"),
}


@pytest.mark.parametrize("change", CRASHES.values(), ids=CRASHES)
def test_wherever_it_crashes_it_is_named_and_nothing_is_written(
    make: Make, tmp_path: Path, change: tuple[str, str]
) -> None:
    (tmp_path / "x.csv").write_text(PICTURES)
    name, out = make(change), tmp_path / "run"
    given = ("--hierarchy", "animals", "--plugin", name, "--out", out, "--no-pdf")
    status, said = run("run", tmp_path / "x.csv", *given)

    assert (status, out.exists()) == (2, False), said
    assert f"the plugin {name} crashed" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["no-such-package", "polars", "", "../up"])
def test_what_is_no_plugin_is_refused(name: str) -> None:
    with pytest.raises(AuditError, match="is installed is required"):
        audited(name)


def test_a_door_takes_what_fits_it_alone(make: Make) -> None:
    name = make(entries={"checks": "PICTURES"})
    with pytest.raises(AuditError, match=f"{name} must give Check"):
        audited(name)


COUNTED = '        declared.count("instances", "Instances"),\n'


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ((COUNTED, ""), "(?s)the kind of its evidence.*instances"),
        (("{instances} instances carry", "About 30 instances carry"), "(?s)as placeholders.*30"),
        (('"common_node",\n', '"unknown_code",\n'), "a name of its own"),
        (('check="common_node"', 'check="residual_overuse"'), "by its own name"),
    ],
)
def test_what_a_check_of_others_may_not_tell_is_refused(
    make: Make, change: tuple[str, str], refused: str
) -> None:
    with pytest.raises(AuditError, match=refused):
        audited(make(change))


@pytest.mark.slow
def test_a_run_is_verified_with_the_plugin_that_made_it(make: Make, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(PICTURES)
    name, out = make(), tmp_path / "run"
    given = ("--hierarchy", "animals", "--plugin", name, "--out", out, "--no-pdf")
    assert run("run", tmp_path / "x.csv", *given)[0] == 0
    same = run("verify", out, "--recompute")
    code = tmp_path / f"{name}.py"
    code.write_text(code.read_text("utf-8") + "\n")
    other = run("verify", out, "--recompute")
    (tmp_path / f"{name}-2.5.dist-info" / "entry_points.txt").write_text("")
    gone = run("verify", out, "--recompute")

    assert (same[0], other[0], gone[0]) == (0, 1, 1)
    assert "the inputs give the bytes" in same[1]
    assert "plugin changed" in other[1]
    assert run("verify", out)[0] == 0
