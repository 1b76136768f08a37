"""The order of findings: laws on those to act on, whatever checks they are of."""

from __future__ import annotations

from audit.results.findings import CheckResult, Finding
from audit.results.order import OF_ONE, TEN, restating, worst


def finding(check: str, *nodes: str, about: tuple[str, ...] = (), asks: bool = False) -> Finding:
    return Finding(check, "note", nodes, "", {}, "", "", about=about, asks=asks)


def test_ten_are_to_be_acted_on_where_there_are_ten_and_few_of_one_check() -> None:
    faults = [("many", (0, False, 0), f"fault {n}") for n in range(20)]
    other = [("other", (0, False, 0), f"other {n}") for n in range(2)]
    known = [("known", (0, True, 0), "known")]
    notes = [("notes", (1, False, 1), "note")]

    assert worst(faults) == [f"fault {n}" for n in range(TEN)]
    assert worst([*known, *faults, *other])[:6] == [
        *(f"fault {n}" for n in range(OF_ONE)), "other 0", "other 1", "known",
    ]  # fmt: skip
    assert worst([*notes, *faults[:1]]) == ["fault 0", "note"]
    assert worst([("many", (0, False, 2), "aside")]) == []


def test_what_two_checks_say_of_the_same_nodes_one_restates() -> None:
    """Also where one of the two names a parent beside the nodes that it counts."""
    whole = finding("b", "parent", "x", "y", about=("x", "y"), asks=True)
    pair, other = finding("c", "y", "x"), finding("a", "x", "z")
    of_all = [finding("d", "root"), finding("e", "root")]
    found = (whole, pair, other, *of_all)
    checks = [CheckResult(one.check, "", 1, "", (one,)) for one in found]

    assert restating(checks, "root") == {whole.id}
