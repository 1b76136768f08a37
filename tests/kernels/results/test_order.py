"""The order of findings: laws on those to act on, whatever checks they are of."""

from __future__ import annotations

from typing import Any

from audit.results.findings import CheckResult, Finding, Judgement
from audit.results.order import OF_ONE, TEN, restating, worst
from audit.results.since import twin_of


def finding(check: str, *nodes: str, about: tuple[str, ...] = (), **own: Any) -> Finding:
    return Finding(check, own.pop("severity", "note"), nodes, "", {}, "", "", about=about, **own)


def faults(check: str, number: int, **judged: bool) -> list[Finding]:
    judgement = Judgement(**judged)
    return [finding(check, f"{n:02}", severity="warning", judgement=judgement)
            for n in range(number)]  # fmt: skip


def test_ten_are_to_be_acted_on_where_there_are_ten_and_few_of_one_check() -> None:
    many, other, note = faults("many", 20), faults("other", 2), finding("note", "n", asks=True)
    known, unasked = faults("known", 1, known=True), faults("unasked", 1, unasked=True)

    assert worst(many) == many[:TEN]
    assert worst([*known, *unasked, *many, *other])[:7] == [
        *many[:OF_ONE], *other, *unasked, *known
    ]  # fmt: skip
    assert worst([note, *many[:1]]) == [*many[:1], note]
    assert worst([finding("many", "n", aside=True)]) == []


def test_a_finding_on_the_difference_to_a_reference_joins_the_one_that_is_there() -> None:
    own, alone = (finding("c", n) for n in "ab")
    twins = [finding("c", n, key=(n, "reference", "")) for n in "abx"]

    assert twin_of(own.id) == twins[0].id
    assert worst([own, *twins, alone]) == [own, twins[2], alone]


def test_what_two_checks_say_of_the_same_nodes_one_restates() -> None:
    """Also where one of the two names a parent beside the nodes that it counts."""
    whole = finding("b", "parent", "x", "y", about=("x", "y"), asks=True)
    pair, other = finding("c", "y", "x"), finding("a", "x", "z")
    of_all = [finding("d", "root"), finding("e", "root")]
    found = (whole, pair, other, *of_all)
    checks = [CheckResult(one.check, "", 1, "", (one,)) for one in found]

    assert restating(checks, "root") == {whole.id}
