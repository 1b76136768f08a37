"""Releases in a chain, each with the one before as reference: no two of them tell a small cell."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from audit.base.errors import InputError
from audit.cli.app import app
from audit.disclosure import Cell, carried
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.inputs import read_runs
from audit.runs.protected_with import refuse_told_together
from audit.runs.read import read_run
from fixtures.attack import BODIES
from fixtures.labelled import labelled, repeated

GROWING = [
    {"flu": 100, "asthma": 40, "attack": 50},
    {"flu": 104, "asthma": 60, "attack": 90},
    {"flu": 108, "asthma": 80, "attack": 130},
]


RELEASES = [
    labelled(BODIES["flat"], repeated([(n, [node]) for node, n in one.items()]), persons=True)
    for one in GROWING
]


def audited(place: int, *before: AuditResult, min_cell: int = 11) -> AuditResult:
    reference, *earlier = (*before, None)[: max(len(before), 1)]
    return run_audit(
        RELEASES[place],
        Policy(min_cell=min_cell),
        reference=reference,
        earlier=[run for run in earlier if run],
    )


def chain(folder: Path) -> list[AuditResult]:
    """Audits of growing releases, each read back before the next one is made with it."""
    found = list[AuditResult]()
    for place in range(len(GROWING)):
        write_run(audited(place, *found[-1:]), folder / str(place))
        found.append(read_run(folder / str(place)))
    return found


def told(result: AuditResult) -> dict[Cell, int]:
    """Counts of nodes that a view shows exactly."""
    rows = result.shared()["overview"]["branches"]
    counts = {carried(row["node"]): row["instances"] for row in rows}
    return {cell: n for cell, n in counts.items() if isinstance(n, int)}


def small_differences(*views: AuditResult) -> set[int]:
    found = [told(view) for view in views]
    return {
        came
        for first, second in combinations(found, 2)
        for cell, n in first.items()
        if cell in second and (came := abs(second[cell] - n)) in range(1, 11)
    }


def test_no_release_of_a_chain_tells_a_small_difference_from_any_before(tmp_path: Path) -> None:
    found = chain(tmp_path)

    assert [carried("flu") in told(view) for view in found][:2] == [True, False]
    assert small_differences(*found) == set()


def test_a_release_that_the_reference_remembers_too_is_kept_once(tmp_path: Path) -> None:
    """Of findings with lines too, which are read back from a file of the second release."""
    runs = list[AuditResult]()
    for place in range(3):
        twice = repeated([(40 + 20 * place, ["flu", "flu"]), (30, ["asthma"])])
        reference, *earlier = (*runs[::-1], None)
        data = labelled(BODIES["flat"], twice, persons=True)
        given = [one for one in earlier if one]
        write_run(run_audit(data, reference=reference, earlier=given), tmp_path / str(place))
        runs = [*read_runs([tmp_path / str(one) for one in range(place + 1)])]

    assert [len(run.before) for run in runs] == [0, 0, 1]
    assert runs[1].reference is not None
    assert runs[1].reference in runs[2].before


def test_what_earlier_runs_told_is_read_as_it_would_be_made_again(tmp_path: Path) -> None:
    chain(tmp_path)
    folders = [tmp_path / str(place) for place in range(3)]

    for run, folder in zip(read_runs(folders), folders, strict=True):
        assert run.shared() == read_run(folder).shared()
        assert "view" not in vars(run), "no program is solved again"


def test_what_is_known_of_all_before_is_kept(tmp_path: Path) -> None:
    known = chain(tmp_path)[-1].known.earlier

    assert [one.counts[carried("flu")] for one in known] == [104, 100]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_release_is_protected_against_all_that_are_named(order: tuple[int, int]) -> None:
    """The first two tell a small difference already; the third tells none from either."""
    before = [audited(place) for place in range(2)]
    alone, beside = audited(2), audited(2, *(before[place] for place in order))

    for one in before:
        assert small_differences(one, alone) != set()
        assert small_differences(one, beside) == set()
    instances = beside.shared()["since_reference"]["instances"]
    assert instances == before[order[0]].size, "the first that is named is compared with"


def test_runs_that_tell_a_small_difference_together_are_refused(tmp_path: Path) -> None:
    first, alone, last = audited(0), audited(1), audited(2)
    with pytest.raises(
        InputError, match="of two that must be withheld beside one; 2 counts of three"
    ):
        refuse_told_together({"one": first, "two": alone, "three": last})
    found = chain(tmp_path)
    refuse_told_together(dict(zip("123", found, strict=True)))
    refuse_told_together({"one": found[0], "three": found[2]})
    refuse_told_together({"one": first, "two": audited(1, min_cell=1)})


def test_history_and_compare_refuse_them(tmp_path: Path) -> None:
    runs = [write_run(audited(place), tmp_path / str(place)) for place in range(2)]
    for command in ("compare", "history"):
        typed = [command, *map(str, runs), "--out", str(tmp_path / command)]
        done = CliRunner().invoke(app, typed)
        assert done.exit_code == 2
        told = f"2 counts of {runs[1]} that must be withheld beside {runs[0]}"
        assert f"Found: {told}" in done.output
        assert not (tmp_path / command).exists()
