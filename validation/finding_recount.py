"""The numbers of findings, counted again from the rows in plain Python and numpy.

Nothing here imports ``audit``; the formulas are those of docs/methods/.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import gamma

from fixtures import brute_force_scan as pair_scan
from validation.depth_recount import loss_of_depth
from validation.plain_releases import Release, of_one_kind

LONGEST_FIT = 10_000


class Recount:
    """Counts of one release, by record and by pair of nodes.

    Args:
        release: The release.
        folder: Where the public data lie.
        before: The release that was its reference, if it had one.
    """

    def __init__(self, release: Release, folder: Path, before: Release | None = None) -> None:
        self.release, self._folder, self.before = release, folder, before
        self.n = len(release.labels)
        self.pieces: dict[str, list[str]] = {}
        """What sentences must hold, by the finding that was counted again."""

    @cached_property
    def carried(self) -> dict[str, set[str]]:
        """Records of each node: those with a label at or below it."""
        return self._records(self.release.labels)

    @cached_property
    def answered(self) -> dict[str, set[str]]:
        """Records of each node by the model's answers."""
        return self._records(self.release.answers)

    def _records(self, labels: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {node: set() for node in self.release.nodes}
        for record, own in labels.items():
            for label in own:
                for node in self.release.above[label]:
                    found[node].add(record)
        return found

    def both(self, a: str, b: str) -> int:
        """Records that carry both."""
        return len(self.carried[a] & self.carried[b])

    def joint(self, a: str, b: str) -> int:
        """Records that carry both and have no label at or below both."""
        return sum(
            not any({a, b} <= self.release.above[label] for label in self.release.labels[record])
            for record in self.carried[a] & self.carried[b]
        )

    def below(self, parent: str) -> dict[str, set[str]]:
        """The labels strictly below a node, by record that has any."""
        above = self.release.above
        own = {
            record: {x for x in labels if parent in above[x] and x != parent}
            for record, labels in self.release.labels.items()
        }
        return {record: labels for record, labels in own.items() if labels}

    def only_among(self, nodes: set[str], parent: str) -> set[str]:
        """Records all of whose labels below a node are among the given ones."""
        return {record for record, labels in self.below(parent).items() if labels <= nodes}

    def carried_alone(self, a: str, b: str) -> set[str]:
        """Records labelled with one of two labels and not the other."""
        labels = self.release.labels.items()
        return {record for record, own in labels if (a in own) != (b in own)}

    def exchanged(self, a: str, b: str) -> set[str]:
        """Records labelled with one of two labels and answered with the other."""
        answers = self.release.answers
        return {
            record
            for record in self.carried_alone(a, b)
            if (a in answers[record]) != (b in answers[record])
            and (a in answers[record]) == (b in self.release.labels[record])
        }

    def given(self, answer: str) -> tuple[set[str], set[str]]:
        """Records where a label is given falsely in place of others, and missed for others.

        A label above or below it is no other, and one below it implies it.
        """
        above = self.release.above
        found: tuple[set[str], set[str]] = set(), set()
        for record, answers in self.release.answers.items():
            labels, given = set(self.release.labels[record]), set(answers)
            for own, other, into in zip((given, labels), (labels, given), found, strict=True):
                beside = (
                    x for x in other - own if answer not in above[x] and x not in above[answer]
                )
                implied = any(answer in above[x] for x in other)
                if answer in own - other and not implied and any(beside):
                    into.add(record)
        return found

    @cached_property
    def scanned(self) -> pair_scan.Release:
        """The release with what a scan over its pairs takes out of what others expect."""
        release = self.release
        parents = {node: release.parents.get(node, set()) for node in release.nodes}
        labels = {record: set(own) for record, own in release.labels.items()}
        own = pair_scan.Release(parents, labels, release.groups or None)
        return pair_scan.scan(own).release

    def by_groups(self, a: str, b: str) -> Iterable[str]:
        """What is told of two nodes where records are in groups."""
        own, each = self.scanned, self.scanned.scale(a, b)
        both = own.meeting(a, b)
        k, expected = own.weigh(both) / each, own.expected(a, b) / each
        yield f"{_of(len(both), self.n)} instances in {len(set(map(own.group, both))):,} groups"
        yield from _times(k, expected)

    @cached_property
    def exchanges(self) -> Exchanges:
        """How often labels are answered in place of each other."""
        return Exchanges(self.release)

    @cached_property
    def assignable(self) -> dict[str, set[str]]:
        """The codes of version 32 of ICD-9-CM as the government lists them, by table."""
        found: dict[str, set[str]] = {}
        with zipfile.ZipFile(self._folder / "icd9cm" / "cms_v32.zip") as file:
            for table, name, dot in (("diagnoses", "DX", 3), ("procedures", "SG", 2)):
                lines = file.read(f"CMS32_DESC_SHORT_{name}.txt").decode("latin-1").splitlines()
                codes = [line.split()[0] for line in lines if line.strip()]
                places = ((code, dot + code.startswith("E")) for code in codes)
                found[table] = {
                    f"{code[:at]}.{code[at:]}" if len(code) > at else code for code, at in places
                }
        return found


class Exchanges:
    """Labels answered in place of each other, observed and expected."""

    def __init__(self, release: Release) -> None:
        both = (*release.labels.values(), *release.answers.values())
        self.nodes = sorted(set().union(*both))
        self._place = {node: i for i, node in enumerate(self.nodes)}
        size = len(self.nodes)
        self._seen, self._expected = np.zeros((size, size)), np.zeros((size, size))
        strata: dict[tuple[int, int], list[tuple[list[int], list[int]]]] = {}
        for record, answers in release.answers.items():
            labels = set(release.labels[record])
            missed = [self._place[x] for x in labels - set(answers)]
            false = [self._place[x] for x in set(answers) - labels]
            if missed and false:
                strata.setdefault((len(missed), len(false)), []).append((missed, false))
        for own in strata.values():
            table = np.zeros((size, size))
            for missed, false in own:
                table[np.ix_(missed, false)] += 1
            self._seen += table
            self._expected += fitted(table.sum(axis=1), table.sum(axis=0))

    def of(self, a: str, b: str) -> tuple[int, int, float]:
        """Labelled the first and answered the second; the other way round; expected of both."""
        i, j = self._place[a], self._place[b]
        expected = self._expected[i, j] + self._expected[j, i]
        return int(self._seen[i, j]), int(self._seen[j, i]), float(expected)


def fitted(rows: Any, columns: Any) -> Any:
    """The table with these sums and an empty diagonal, by iterative proportional fitting.

    Args:
        rows: Sums of the rows, shape (n,).
        columns: Sums of the columns, shape (n,).
    """
    kept = np.flatnonzero((rows > 0) | (columns > 0))
    r, c = rows[kept], columns[kept]
    x, y = r.astype(float), np.ones(len(kept))
    for _ in range(LONGEST_FIT):
        y = _over(c, x.sum() - x)
        x = _over(r, y.sum() - y)
        off = np.abs(y * (x.sum() - x) - c).max()
        if off <= 1e-9 * r.sum():
            break
    table = np.outer(x, y)
    np.fill_diagonal(table, 0)
    full = np.zeros((len(rows), len(rows)))
    full[np.ix_(kept, kept)] = table
    return full


def _over(sums: Any, others: Any) -> Any:
    return np.divide(sums, others, out=np.zeros(len(sums)), where=(others > 0) & (sums > 0))


def recounted(recount: Recount, finding: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    """Whether the numbers of a finding's sentences come out again.

    Args:
        recount: Counts of its release.
        finding: As `result.json` has it.
        policy: The run's `policy.json`, for the nodes of a companion rule.

    Returns:
        ``right``, or what does not: pieces that are missing, or digits that no piece holds.
    """
    statement = str(finding["statement"])
    check = finding["id"].partition(":")[0]
    if finding["id"] not in recount.pieces:
        recount.pieces[finding["id"]] = list(_PIECES[check](recount, finding, policy))
    pieces = recount.pieces[finding["id"]]
    missing = [piece for piece in pieces if piece not in statement]
    rest = statement
    for piece in sorted(pieces, key=len, reverse=True):
        rest = rest.replace(piece, "")
    rest = _without_citations(recount, rest, finding)
    left = missing or re.findall(r"\S*\d\S*", rest)
    return f"not right: {left}" if left else "right"


def _without_citations(recount: Recount, statement: str, finding: Mapping[str, Any]) -> str:
    """Sentences without a rule's own text, titles, ids and the policy's limit."""
    rule = re.compile(
        r"([Tt]he rule:|Hypertension with chronic|The paper Abstraction|They were kept).*"
    )
    names = re.compile(r"version 32 \(FY2015\)|the limit is 50%|95% interval")
    text = names.sub("", rule.sub("", statement))
    nodes = (node["id"] for one in (finding, *finding["parts"]) for node in one["nodes"])
    above = (a for node in set(nodes) for a in recount.release.above.get(node, {node}))
    for node in sorted({*above, *_named(finding)}, key=len, reverse=True):
        text = text.replace(recount.release.describe(node), "").replace(node, "")
    return text


def _named(finding: Mapping[str, Any]) -> Iterable[str]:
    return (node["id"] for node in finding["nodes"])


def _share(k: float, n: float) -> str:
    text = f"{k / n:.1%}"
    return {"0.0%": "<0.1%", "100.0%": ">99.9%"}.get(text, text) if 0 < k < n else text


def _of(k: int, n: int) -> str:
    return f"{k:,} of {n:,}"


def _number(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 10 else f"{x:.2f}".rstrip("0").rstrip(".")


def _times(k: float, expected: float) -> Iterator[str]:
    low, high = (float(gamma.ppf(at, k + 0.5)) / (expected + 0.5) for at in (0.025, 0.975))
    yield f"about {_number((k + 0.5) / (expected + 0.5))} times as many as chance would"
    yield f"({_number(low)} to {_number(high)}, 95% interval)"


_Pieces = Iterable[str]


def _residual(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    (parent,), vague = _named(finding), {x for p in finding["parts"] for x in _named(p)}
    k, n = len(recount.only_among(vague, parent)), len(recount.below(parent))
    yield f"{_of(k, n)} instances ({_share(k, n)})"


def _exclusive(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    a, b = finding["id"].split(":")[1:]
    on_a, on_b = recount.carried[a], recount.carried[b]
    pairs = {
        (x, y)
        for record in on_a & on_b
        for x in recount.release.labels[record]
        for y in recount.release.labels[record]
        if a in recount.release.above[x] and b in recount.release.above[y]
    }
    k, n = len(on_a & on_b), len(on_a | on_b)
    yield f"{_of(k, n)} instances with"
    yield f"({_share(k, n)})"
    yield f"in {len(pairs)} "


def _headings(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    """Rows whose code is no code of the list: a heading of codes, or in no list."""
    release = recount.release
    rows = Counter(label for labels in release.labels.values() for label in labels)
    _, kind = finding["id"].split(":")
    found = [
        code
        for code in rows
        if code not in (listed := recount.assignable[release.tables[code]])
        and (kind == "unlisted" or release.tables[code] == kind)
        and any(one.startswith(code) for one in listed) == (kind != "unlisted")
    ]
    k, n = sum(rows[code] for code in found), rows.total()
    yield f"{_of(k, n)} rows ({_share(k, n)})"
    if kind != "unlisted" or len(found) > 3:
        yield f"{len(found)} code"


def _shallower(recount: Recount) -> _Pieces:
    if recount.before is None:
        raise ValueError("a loss since a reference is counted again with the reference")
    loss = loss_of_depth(recount.release, recount.before)
    told = {name: _number(number) for name, number in loss.items()}
    yield f"mean depth {told['depth']}, there {told['depth_before']}"
    yield f"a loss of {told['lost']}"
    yield f"(95% interval {told['lost_low']} to {told['lost_high']})"


def _not_specific(recount: Recount, finding: Mapping[str, Any], policy: Any) -> _Pieces:
    if finding["id"].endswith(":shallower"):
        yield from _shallower(recount)
        return
    if not finding["id"].endswith(":uninformative"):
        yield from _headings(recount, finding, policy)
        return
    release = recount.release
    has_children = {parent for above in release.parents.values() for parent in above}
    leaves = [node for node in release.nodes if node not in has_children]
    vague = {
        node
        for node in has_children
        if not release.parents.get(node)
        or sum(node in release.above[leaf] for leaf in leaves) > len(leaves) / 2
    }
    labelled = [labels for labels in release.labels.values() if labels]
    k, n = sum(set(labels) <= vague for labels in labelled), len(labelled)
    yield f"{_of(k, n)} instances with labels ({_share(k, n)})"


def _repeated(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    counts = [Counter(labels) for labels in recount.release.labels.values() if labels]
    repeats = [{x: k for x, k in own.items() if k > 1} for own in counts]
    k, n = sum(map(bool, repeats)), len(counts)
    yield f"{_of(k, n)} instances with labels ({_share(k, n)})"
    extra = sum(times - 1 for own in repeats for times in own.values())
    yield f"{extra} repeated rows of {len(set().union(*repeats))} different labels"


def _empty(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    k = sum(not labels for labels in recount.release.labels.values())
    yield f"{_of(k, recount.n)} instances ({_share(k, recount.n)})"


def _any(code: str, nodes: Sequence[str]) -> bool:
    """Whether a code of ICD-9-CM lies at or below one of the nodes, which may be ranges."""
    return any(_under(code, node) for node in nodes)


def _under(code: str, node: str) -> bool:
    low, dash, high = node.partition("-")
    category = code.partition(".")[0]
    if dash:
        alike = category[0].isalpha() == low[0].isalpha() and len(category) == len(low)
        return alike and low <= category <= high
    return code == node or code.startswith(node if "." in node else f"{node}.")


def _companion(recount: Recount, finding: Mapping[str, Any], policy: Mapping[str, Any]) -> _Pieces:
    key = finding["id"].split(":")
    rules = [r for r in policy["companions"] if r["if"][0] == key[1]]
    rule = next(r for r in rules if r["source"] in finding["statement"])
    asking = [
        labels
        for labels in recount.release.labels.values()
        if any(_any(x, rule["if"]) for x in labels)
        and not any(_any(x, rule["unless"]) for x in labels)
    ]
    if "missing" in key:
        k, n = sum(not any(_any(x, rule["needs"]) for x in own) for own in asking), len(asking)
        yield f"{_of(k, n)} instances with "
    else:
        asking = [own for own in asking if any(_any(x, rule["needs"]) for x in own)]
        k, n = sum(_only_after(own, rule) for own in asking), len(asking)
        yield f"{_of(k, n)} instances with both "
    yield f"({_share(k, n)})"
    yield from _listed(finding["statement"], rule["if"])
    yield from _listed(finding["statement"], rule["needs"])


def _listed(statement: str, nodes: Sequence[str]) -> _Pieces:
    """What a sentence tells of a list of nodes: up to three, of more the first two and how many.

    A node without a title is told with the heading above it.
    """
    shown = nodes if len(nodes) <= 3 else nodes[:2]
    for node in shown:
        heading = node.partition(".")[0]
        yield f"({node})" if f"({node})" in statement else node
        yield f", {heading})" if f"{node} (below " in statement else ""
    if len(nodes) > 3:
        yield f" or {len(nodes) - 2} others"


def _only_after(labels: Sequence[str], rule: Mapping[str, Any]) -> bool:
    first = next(i for i, x in enumerate(labels) if _any(x, rule["if"]))
    return not any(_any(x, rule["needs"]) for x in labels[:first])


def _branches_meet(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    nodes = list(_named(finding))
    records = recount.release.labels.values()
    k = sum(all(any(_under(x, node) for x in own) for node in nodes) for own in records)
    yield f"{_of(k, recount.n)} instances ({_share(k, recount.n)})"


def _beside(recount: Recount, finding: Mapping[str, Any], policy: Mapping[str, Any]) -> _Pieces:
    """Which nodes are unspecified is taken from the run; who carries what is counted."""
    release, open_, residual = recount.release, policy["open"], policy["residual"]
    pairs: set[tuple[str, str]] = set()
    of = k = 0
    for labels in map(set, release.labels.values()):
        of += bool(labels & open_)
        own = {
            (vague, specific)
            for vague in labels & open_
            for parent in release.parents.get(vague, ())
            for label in labels - {vague}
            for specific in release.above[label]
            if parent in release.parents.get(specific, ())
            and specific not in residual
            and specific not in release.above[vague]
            and not _known(policy, vague, specific)
            and (
                "-" not in parent
                or of_one_kind(release.titles.get(vague, ""), release.titles.get(specific, ""))
            )
        }
        pairs |= own
        k += bool(own)
    yield f"{_of(k, of)} instances with an unspecified label ({_share(k, of)})"
    yield f"in {len(pairs)} different pairs"


def _known(policy: Mapping[str, Any], *pair: str) -> bool:
    """Whether the policy says that two codes come together."""
    sides = [([a], [b]) for a, b in (one["nodes"] for one in policy["expected"])]
    sides += [(rule["if"], rule["needs"]) for rule in policy["companions"]]
    both = (pair, pair[::-1])
    return any(_any(a, left) and _any(b, right) for left, right in sides for a, b in both)


def _pair(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    if finding["id"].endswith(":children"):
        yield f"{len(finding['parts'])} pairs"
        ends = list(_named(finding["parts"][0]))
    else:
        ends = list(_named(finding))[-2:]
    if recount.release.groups:
        yield from recount.by_groups(*ends)
        return
    joint, expected = recount.joint(*ends), recount.scanned.expected(*ends)
    yield f"{_of(joint, recount.n)} instances have both"
    yield from _times(joint, expected)


def _copied(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    """Sets are near where one is the other less a label, or both are equal less a label each."""
    groups = recount.release.groups
    own = {record: frozenset(labels) for record, labels in recount.release.labels.items()}
    records = Counter(labels for labels, _ in {(own[one], groups.get(one, one)) for one in own})
    sharing: dict[frozenset[str], set[frozenset[str]]] = {}
    for labels in records:
        less_one = [labels - {label} for label in labels] if len(labels) >= 5 else []
        for key in [labels, *less_one] if len(labels) >= 4 else []:
            sharing.setdefault(key, set()).add(labels)
    near: dict[frozenset[str], set[frozenset[str]]] = {labels: set() for labels in records}
    for alike in sharing.values():
        for labels in alike:
            near[labels] |= alike - {labels}
    repeated = {x: n - 1 - sum(map(records.__getitem__, near[x])) for x, n in records.items()}
    copied = {labels: n for labels, n in repeated.items() if n > 0 and len(labels) >= 5}
    single = {x: min(near[x]) for x, n in records.items() if n == 1 and len(near[x]) == 1}
    d, i = sum(copied.values()), sum(single.get(x) == y for y, x in single.items()) // 2
    k, n = sum(x in copied for x in own.values()), sum(len(x) >= 5 for x in own.values())
    yield f"{_of(k, n)} instances with 5 or more different labels ({_share(k, n)})"
    yield f"{i:,} pairs do, where {d:,} repeat another exactly"


def _redundant(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    a, b = _named(finding)
    first, second, both = len(recount.carried[a]), len(recount.carried[b]), recount.both(a, b)
    met = min(recount.scanned.expected(a, b), first, second)
    if finding["id"].endswith(":beside"):
        yield f"{_of(both, first)} instances with"
        yield f"({_share(both, first)}), where chance would give {_share(met, first)}"
        return
    yield f"{_of(both, recount.n)} instances have both"
    yield f"{_share(both, first + second - both)} of those with at least one of the two"
    yield f"chance would give {_share(met, first + second - met)}"


def _exchanged(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    if finding["id"].endswith(":answer"):
        (answer,) = _named(finding)
        yield from _falsely(recount, answer)
        for label in recount.exchanges.nodes:
            told = f"{recount.release.describe(label)} ({recount.exchanges.of(label, answer)[0]:,})"
            if told in finding["statement"]:
                yield told
        return
    a, b = _named(finding)
    forth, back, expected = recount.exchanges.of(a, b)
    one = len(recount.carried_alone(a, b))
    yield f"{_of(forth + back, one)} instances with one of the two ({_share(forth + back, one)})"
    yield f"chance would give {_number(expected)}"
    first, second = map(recount.release.describe, (a, b))
    yield f"for the other, {forth} for {second}, {back} for {first};"
    for answer in (a, b):
        if f"The model answers {recount.release.describe(answer)} in" in finding["statement"]:
            yield from _falsely(recount, answer)


def _falsely(recount: Recount, answer: str) -> _Pieces:
    falsely, missed = (len(records) for records in recount.given(answer))
    yield f"label on {falsely:,} instances"
    yield f"is given on {missed:,}"


def _habit(recount: Recount, finding: Mapping[str, Any], _: object) -> _Pieces:
    a, b = _named(finding)
    labelled = recount.both(a, b)
    answered = len(recount.answered[a] & recount.answered[b])
    yield f"on {_of(answered, recount.n)} instances ({_share(answered, recount.n)})"
    yield f"{_number(answered / labelled)} times as often as labelled together ({labelled:,})"


_PIECES: Mapping[str, Callable[[Recount, Mapping[str, Any], Any], _Pieces]] = {
    "copied_records": _copied,
    "cross_branch": _branches_meet,
    "duplicate_label": _repeated,
    "empty_instance": _empty,
    "missing_companion": _companion,
    "model_confuses": _exchanged,
    "model_habit": _habit,
    "not_specific": _not_specific,
    "redundant_nodes": _redundant,
    "residual_overuse": _residual,
    "retired_code": _headings,
    "sibling_exclusive": _exclusive,
    "unexpected_pair": _pair,
    "unspecific_beside_specific": _beside,
}
