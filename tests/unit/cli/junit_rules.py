"""The rules that the JUnit schemas of Ant and of Jenkins share, written out for one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

_SUITE = {
    "id": r"\d+",
    "package": r"\S.*",
    "name": r"\S.*",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "hostname": r"\S+",
    "tests": r"\d+",
    "failures": r"\d+",
    "errors": r"\d+",
    "skipped": r"\d+",
    "time": r"\d+(\.\d+)?",
}
_ORDER = ["properties", "testcase", "system-out", "system-err"]
_STATES = {"failure": {"message", "type"}, "error": {"message", "type"}, "skipped": {"message"}}


def broken_rules(content: bytes) -> list[str]:
    """What a file breaks; empty for one that both schemas allow."""
    root = ElementTree.fromstring(content)
    if root.tag != "testsuites" or root.attrib:
        return ["the root is testsuites, without attributes"]
    return [rule for place, suite in enumerate(root) for rule in _of_suite(suite, place)]


def _of_suite(suite: ElementTree.Element, place: int) -> Iterator[str]:
    if suite.tag != "testsuite" or suite.get("id") != str(place):
        yield "suites are numbered from 0"
    if suite.attrib.keys() != _SUITE.keys():
        yield f"attributes of a suite: {sorted(suite.attrib)}"
    for name, form in _SUITE.items():
        if not re.fullmatch(form, suite.get(name, "")):
            yield f"{name} of a suite: {suite.get(name)!r}"
    tags = [child.tag for child in suite]
    if tags != sorted(tags, key=_ORDER.index) or any(
        tags.count(tag) != 1 for tag in _ORDER if tag != "testcase"
    ):
        yield f"order of a suite: {tags}"
    for one in suite.iterfind("properties/*"):
        if one.tag != "property" or one.attrib.keys() != {"name", "value"} or not one.get("name"):
            yield f"property: {one.attrib}"
    cases = suite.findall("testcase")
    for case in cases:
        yield from _of_case(case)
    counts = {"tests": len(cases)} | {
        many: sum(case.find(one) is not None for case in cases)
        for one, many in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped"))
    }
    yield from (f"{name}: {n}" for name, n in counts.items() if suite.get(name) != str(n))


def _of_case(case: ElementTree.Element) -> Iterator[str]:
    if case.attrib.keys() != {"name", "classname", "time"} or not case.get("name"):
        yield f"attributes of a case: {case.attrib}"
    if len(case) > 1:
        yield "a case has one state"
    for state in case:
        if state.tag not in _STATES or state.attrib.keys() != _STATES[state.tag] or len(state):
            yield f"state of a case: {state.tag} {sorted(state.attrib)}"
