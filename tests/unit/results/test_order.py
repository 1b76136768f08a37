"""The order of findings: laws on those to act on, whatever checks they are of."""

from __future__ import annotations

from audit.results.findings import CheckResult, Finding
from audit.results.order import OF_ONE, TEN, restating, worst


def finding(check: str, *nodes: str, about: tuple[str, ...] = (), asks: bool = False) -> Finding:
    return Finding(check, "note", nodes, "", {}, "", "", about=about, asks=asks)


def test_few_of_one_check_and_few_that_stand_aside_are_to_be_acted_on() -> None:
    """Pairs that belong together fill no list, however many checks find them.

    What merely asks is asked once a check, and what stands aside is none to act on.
    """
    asked = [(f"check {n % 4}", 1, f"pair {n}") for n in range(40)]
    faults = [("check 5", 0, f"fault {n}") for n in range(OF_ONE + 1)]

    assert worst(asked) == [f"pair {n}" for n in range(OF_ONE)]
    assert worst(one for one in asked if one[0] == "check 2") == ["pair 2"]
    assert [one[:4] for one in worst([*faults, *asked])] == ["faul"] * OF_ONE + ["pair"] * OF_ONE
    assert worst([("check 5", 2, "aside"), *faults[:1], ("check 5", 1, "asks")]) == ["fault 0"]
    assert len(worst((f"check {n}", 0, n) for n in range(40))) == TEN


def test_what_two_checks_say_of_the_same_nodes_one_restates() -> None:
    """Also where one of the two names a parent beside the nodes that it counts."""
    whole = finding("b", "parent", "x", "y", about=("x", "y"), asks=True)
    pair, other = finding("c", "y", "x"), finding("a", "x", "z")
    of_all = [finding("d", "root"), finding("e", "root")]
    found = (whole, pair, other, *of_all)
    checks = [CheckResult(one.check, "", 1, "", (one,)) for one in found]

    assert restating(checks, "root") == {whole.id}
