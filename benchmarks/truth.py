"""Whether findings are true: planted pairs and faults, releases without any, and public data.

``AUDIT_DATA=FOLDER python benchmarks/truth.py [--releases N] [--pairs N] [--pairs-from FILE]
[--guards N] [--scenes N] [--answers N] [--processes N] [--out FILE]`` writes docs/truth.md and the
chart beside it. ``--pairs-from`` takes the pairs from what ``pair_truth.py --json`` wrote. Exit
status 1 where a goal is missed by more than its sampling error.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import answer_truth, pair_truth, probe_truth
from benchmarks.answer_worlds import WORLDS as ANSWER_WORLDS
from benchmarks.evidence_worlds import WORLDS as EVIDENCE_WORLDS
from benchmarks.pair_guards import GUARDS, Guarded
from benchmarks.pair_power import power_chart
from benchmarks.pair_scores import Outcome
from benchmarks.pair_truth import table
from benchmarks.pair_worlds import WORLDS as PAIR_WORLDS
from benchmarks.probe_truth import Probed
from benchmarks.scene_guards import SCENE_GUARDS, GuardedScene
from benchmarks.scenes import SCENES
from benchmarks.shares import Share
from benchmarks.truth_judgements import judgement
from benchmarks.truth_measure import RATE, RECALL, Measured, measure
from benchmarks.truth_null import WORLDS
from benchmarks.truth_planted import KINDS, KINDS_OF_ICD10, LEAST, MOST, STATISTICAL
from benchmarks.truth_real import SOURCES, TOP, Examined, examined

PAGE = Path(__file__).parents[1] / "docs" / "truth.md"
CHART = "truth_pairs.svg"
RELEASES, SCENE_RELEASES, GUARDED = 200, 40, 10
WIDTH = 120


def main() -> None:
    """Measure, write the page and its chart, and print what is missed."""
    parser = argparse.ArgumentParser(description="Hold findings against what was planted.")
    parser.add_argument("--releases", type=int, default=RELEASES, help="with faults and without")
    parser.add_argument("--pairs", type=int, default=pair_truth.RELEASES, help="of each world")
    parser.add_argument("--pairs-from", type=Path, metavar="FILE", help="pairs of an earlier run")
    parser.add_argument("--guards", type=int, default=GUARDED, help="releases for each guard")
    parser.add_argument("--scenes", type=int, default=SCENE_RELEASES, help="of each scene")
    parser.add_argument("--answers", type=int, default=answer_truth.RELEASES, help="of each world")
    parser.add_argument("--probes", type=int, default=probe_truth.RELEASES, help="of each world")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    folder = os.environ.get("AUDIT_DATA")
    if not folder:
        sys.exit("AUDIT_DATA must name the folder with the public data")
    measured = measure(
        options.releases,
        options.guards,
        scenes=options.scenes,
        scene_guards=options.guards,
        answers=options.answers,
        processes=options.processes,
    )
    if options.pairs_from:
        pairs = pair_truth.read(options.pairs_from)
    else:
        names = [one.name for one in PAIR_WORLDS]
        pairs = pair_truth.measured(names, options.pairs, options.processes)
    probed = probe_truth.measured(options.probes, options.processes)
    options.out.write_text(page(measured, pairs, probed, Path(folder)), "utf-8")
    (options.out.parent / CHART).write_text(power_chart(pairs), "utf-8")
    missed = [*pair_truth.missed_goals(pairs), *measured.missed_goals()]
    missed += probe_truth.missed_goals(probed)
    print("\n".join(f"missed: {goal}" for goal in missed) or "all goals are met")
    sys.exit(int(bool(missed)))


def page(measured: Measured, pairs: Sequence[Outcome], probed: Probed, folder: Path) -> str:
    """The page, from what was measured and the public data in a folder."""
    lines = (*synthetic(measured, pairs), *_probes(probed), *_real(folder))
    return "\n".join(lines).rstrip() + "\n"


def synthetic(measured: Measured, pairs: Sequence[Outcome]) -> Iterator[str]:
    """All of the page but the public data, as lines of Markdown."""
    yield "# Are the findings true?\n"
    yield from _made(measured, pairs)
    yield from _limits()
    yield from _goals(measured, pairs)
    yield from _pairs(pairs)
    yield from _guards(measured.guards)
    yield from _recall(measured)
    yield from _beside(measured)
    yield from _null(measured)
    yield from _scenes(measured)
    yield from _scene_guards(measured.scene_guards)
    yield from _answers(measured)


def _made(measured: Measured, pairs: Sequence[Outcome]) -> Iterator[str]:
    yield _text(
        "This page tells what `audit` finds where the truth is known, and what it finds on public "
        f"data. `{_command(measured, pairs)}` writes it, and with more releases where no number is "
        "given; tests run a few of the same releases. Intervals are 95 % Wilson intervals; "
        "a goal is missed by more than its sampling error where an exact binomial test says so at "
        "2.5 %, as these intervals are too short for a handful of cases. "
        "Everything runs in memory with the built-in policies, with patients as groups."
    )
    yield "## How it is made\n"
    yield _text(
        f"Pairs of nodes (`unexpected_pair`) are judged on {len(pairs):,} releases of "
        f"{len(pair_truth.by_world(pairs))} worlds, each a law by which records are drawn, with "
        "pairs planted or with none. The worlds vary what decides whether a pair can be seen: how "
        "often it is expected, how many times as often it meets, how much of its parent each label "
        "is, how many labels records have and how they were filled, and what else depends on what. "
        "Every world states the chance of each label on each record, so that the expected count of "
        "a pair is known and not estimated."
    )
    yield _text(
        f"All other checks are judged on {len(measured.planted)} releases with planted faults and "
        f"{len(measured.null)} without any, over ICD-9-CM and ICD-10-CM; on "
        f"{len(measured.scenes):,} small releases of {len(SCENES)} scenes, each made for one check;"
        f" and answers that a model leans to on {len(measured.answers):,} releases of "
        f"{len(ANSWER_WORLDS)} worlds of its mistakes."
    )


def _command(measured: Measured, pairs: Sequence[Outcome]) -> str:
    """The command that makes as many releases again."""
    asked = {
        "releases": len(measured.planted),
        "pairs": len(pairs) // max(len(pair_truth.by_world(pairs)), 1),
        "guards": len(measured.guards) // len(GUARDS),
        "scenes": len(measured.scenes) // len(SCENES),
        "answers": len(measured.answers) // len(ANSWER_WORLDS),
    }
    options = " ".join(f"--{name} {number}" for name, number in asked.items())
    return f"AUDIT_DATA=FOLDER python benchmarks/truth.py {options}"


def _goals(measured: Measured, pairs: Sequence[Outcome]) -> Iterator[str]:
    yield "## Goals\n"
    missed = [*pair_truth.missed_goals(pairs), *measured.missed_goals()]
    if missed:
        yield _text("Goals that are missed by more than their sampling error: ")
        yield "\n".join(f"- {goal}" for goal in missed) + "\n"
    else:
        yield _text("Every goal on this page is met within its sampling error.")
    beyond = pair_truth.worlds_beyond(pairs)
    if beyond:
        yield _text(
            "The goals for pairs hold for all scored worlds together. Single worlds that are "
            "beyond them by more than their sampling error: " + "; ".join(beyond) + "."
        )
    else:
        yield _text("No single world of pairs is beyond its goals by more than its sampling error.")


def _pairs(pairs: Sequence[Outcome]) -> Iterator[str]:
    yield "## Pairs of nodes\n"
    yield _text(
        "A planted pair is found where a finding names it, or ancestors of whose records it is at "
        "least 0.9. A finding is false where no end of it is a planted end or lies above one. The "
        "tables have a stricter count too: the pairs told whose two ends are not both at or above "
        "those of one planted pair; those of them below a planted pair share its excess and were "
        "not planted by themselves. Recall is of the pairs with a true ratio of 2 or more and 50 "
        "records expected or more, and of all, however weak. Worlds that are shown and not scored "
        "hold associations that nothing in their rows can tell from a planted one."
    )
    yield f"![Share of the planted pairs found]({CHART})\n"
    yield from pair_truth.tables(pairs)


def _guards(guards: Sequence[Guarded]) -> Iterator[str]:
    yield "## The guards of the scan at work\n"
    yield _text(
        "Each guard is switched off in turn: one function of the running product is replaced, on a "
        "world where that guard has most to do. In each cell the first number is with all guards, "
        "the second without this one. The last column counts planted pairs that are told as "
        "themselves, not as an ancestor."
    )
    yield table(
        ("guard", "instead", "world", "releases", "findings a release", "of them false",
         "releases with a false finding", "planted pairs found", "by their own names"),
        (
            _guard_row(guard.name, guard.instead, guard.world, own)
            for guard in GUARDS
            for own in [[one for one in guards if one.guard == guard.name]]
            if own
        ),
    )  # fmt: skip


def _guard_row(name: str, instead: str, world: str, own: Sequence[Guarded]) -> tuple[str, ...]:
    sides = ([one.on for one in own], [one.off for one in own])
    counted = [[finding for one in side for finding in one.told] for side in sides]
    return (
        name,
        instead,
        world,
        str(len(own)),
        _two(f"{len(told) / len(own):.1f}" for told in counted),
        _two(f"{sum(finding.false for finding in told) / len(own):.1f}" for told in counted),
        _two(str(sum(any(f.false for f in one.told) for one in side)) for side in sides),
        _two(pair_truth.recall(side).brief() for side in sides),
        _two(pair_truth.under_its_own_name(side).brief() for side in sides),
    )


def _two(of_sides: Iterable[str]) -> str:
    on, off = of_sides
    return f"{on}, {off}" if on or off else ""


def _recall(measured: Measured) -> Iterator[str]:
    n = len(measured.planted)
    yield "## Planted faults\n"
    yield _text(
        f"{n} releases of {LEAST:,} to {MOST:,} records with 10 labels on average, three of four "
        "over ICD-9-CM, the others over ICD-10-CM; each with a random choice of the kinds of "
        "faults below. Labels follow a Zipf law over some 2,000 codes, patients return and tend to "
        "have the same labels. A fault is found where a finding that stands names its nodes at "
        f"their own depth: a finding on their ancestors does not count. Goal: {RECALL:.2f} for "
        "each kind."
    )
    kinds = {kind.name: kind for kind in (*KINDS, *KINDS_OF_ICD10)}
    recall = measured.recall()
    rows = [
        (name, f"`{kind.check}`", kind.effect, *_share(recall[name]))
        for name, kind in kinds.items()
        if name in recall
    ]
    together = sum(recall.values(), Share(0, 0))
    head = ("fault", "check", "effect", "planted", "found", "recall", "interval")
    yield table(head, [*rows, ("all", "", "", *_share(together))])


def _share(share: Share) -> tuple[str, str, str, str]:
    return (
        f"{share.n:,}",
        f"{share.k:,}",
        f"{share.value:.3f}" if share.n else "",
        f"{share.low:.3f} to {share.high:.3f}" if share.n else "",
    )


def _beside(measured: Measured) -> Iterator[str]:
    yield "### False findings beside them\n"
    yield _text(
        "Findings of these releases that stand and that nothing planted explains: that name any "
        "other node, or a pair of nodes that are not both at or above those of one planted fault. "
        "What a check says of labels that training lacks is counted again from the rows. Goal: "
        f"none for the checks that judge by a rule, {RATE:.2f} for those that judge by chance."
    )
    beside = measured.false_findings(measured.planted)
    rules = {check: share for check, share in beside.items() if check not in STATISTICAL}
    rows = [(f"`{check}`", *_share(beside[check])) for check in STATISTICAL]
    rows.append(("all checks by a rule", *_share(sum(rules.values(), Share(0, 0)))))
    yield table(("check", "findings", "false", "share", "interval"), rows)


def _null(measured: Measured) -> Iterator[str]:
    yield "## Releases without faults\n"
    yield _text(
        f"{len(measured.null)} releases in {len(WORLDS)} worlds in turn: labels drawn "
        "independently, given how frequent they are, how long the record is and what the patient "
        "tends to have. A third have a model that misses and adds labels by chance. Sites and "
        "splits are drawn by patient. A release counts where a check has any finding. Goal: "
        f"{RATE:.2f} of the releases for each check that judges by chance, and no finding of the "
        "others."
    )
    rows = [
        (
            f"`{check}`",
            *_share(measured.false_releases(check)),
            f"{_mean_family(measured, check):,.0f}",
            f"{_mean_false(measured, check):.3f}",
        )
        for check in STATISTICAL
    ]
    head = ("check", "releases", "with a finding", "share", "interval", "mean family",
            "mean findings")  # fmt: skip
    yield table(head, rows)
    rules = [finding for o in measured.null for finding in o.false if finding[0] not in STATISTICAL]
    yield f"Findings of checks that judge by a rule: {len(rules)}.\n"
    yield "By world, releases with a finding of `unexpected_pair` and `residual_overuse`:\n"
    worlds = [
        (world.name, f"{pairs.n}", f"{pairs.k}", f"{residual.k}")
        for world in WORLDS
        for pairs in [measured.false_releases("unexpected_pair", world.name)]
        for residual in [measured.false_releases("residual_overuse", world.name)]
    ]
    yield table(("world", "releases", "`unexpected_pair`", "`residual_overuse`"), worlds)


def _scenes(measured: Measured) -> Iterator[str]:
    yield "## Scenes\n"
    yield _text(
        "Small releases over ICD-9-CM or made-up trees, each for one check. What is planted is "
        "counted while records are made: a fact is told where a finding of the check gives its "
        "nodes or codes, its counts where they are exact, and nothing more. A finding that tells "
        f"no fact is false. Goals: {RECALL:.2f} of the facts of each scene; no false finding of "
        f"what is judged by a rule; of what is judged by chance, in {RATE:.2f} of the releases. "
        "Scenes that are shown and not scored hold what nothing in their rows can tell from a "
        "fault."
    )
    rows = [
        (
            scene.name if scene.scored else f"{scene.name} (shown, not scored)",
            f"`{scene.check}`",
            scene.what,
            str(len(of.seen)),
            str(of.facts),
            of.false.brief(),
            str(of.false_releases),
        )
        for scene in SCENES
        for of in [measured.of_scene(scene)]
        if of.seen
    ]
    head = ("scene", "check", "what it is", "releases", "facts told", "false findings",
            "releases with one")  # fmt: skip
    yield table(head, rows)


def _probes(probed: Probed) -> Iterator[str]:
    yield "## Concepts and evidence\n"
    yield _text(
        "Representations with concepts that are there (a best discriminant is right in .92) and "
        "concepts that are not, of 12 to 128 instances, by numbers of instances and features, with "
        "groups, and on real features; and explained texts, where one branch has longer or shorter "
        "texts or evidence, or is ignored by the model. `python -m benchmarks.probe_truth "
        f"--releases {len(probed.evidence) // len(EVIDENCE_WORLDS)}` makes these tables alone."
    )
    yield from probe_truth.tables(probed)


def _scene_guards(guards: Sequence[GuardedScene]) -> Iterator[str]:
    yield "### Guards of single checks at work\n"
    yield _text(
        "As with the scan of pairs, each guard is switched off in turn: one function of the "
        "running product or one line of its policy is replaced. The first number in each cell is "
        "with all guards, the second without this one."
    )
    rows = [
        (
            guard.name,
            guard.instead,
            guard.scene,
            str(len(own)),
            _two(str(sum(len(one.false) for one in side)) for side in sides),
            _two(str(sum(bool(one.false) for one in side)) for side in sides),
            _two(Share(sum(told), len(told)).brief() for told in facts),
        )
        for guard in SCENE_GUARDS
        for own in [[one for one in guards if one.guard == guard.name]]
        for sides in [([one.on for one in own], [one.off for one in own])]
        for facts in [[[fact for one in side for fact in one.facts] for side in sides]]
        if own
    ]
    head = ("guard", "instead", "scene", "releases", "false findings",
            "releases with a false finding", "facts told")  # fmt: skip
    yield table(head, rows)


def _answers(measured: Measured) -> Iterator[str]:
    if not measured.answers:
        return
    yield "## Answers that a model leans to\n"
    yield _text(
        "Releases for `model_confuses`. Where nothing is planted (null), missed and given labels "
        "are drawn alike. Elsewhere five answers are given 3 to 8 times as often again as they are "
        "missed, and 40 times or more; two of them in place of any label, three of 4 to 8 labels. "
        "The last worlds have what is no leaning, or a weak one. One is found where a "
        "finding tells it, or where the table of answers has it. Goals: "
        f"a false finding on an answer in {answer_truth.FALSE:.2f} of the releases without one, "
        f"and {answer_truth.EITHER:.2f} of the planted ones in either place. Then each guard of "
        "the rule is switched off in turn: the first number in each cell is with all guards."
    )
    yield from answer_truth.tables(measured.answers, measured.answer_guards)


def _mean_family(measured: Measured, check: str) -> float:
    return float(np.mean([o.family[check] for o in measured.null if o.family[check]] or [0]))


def _mean_false(measured: Measured, check: str) -> float:
    asked = [o for o in measured.null if o.family[check]]
    return float(np.mean([sum(c == check for c, _ in o.false) for o in asked] or [0]))


LIMITS = (
    "All of these releases are drawn by laws that their authors thought of. What nobody thought of "
    "is not in them; the public data below show some of it.",
    "A pair of few expected records, or of a ratio near 1.5, is often not found: the chart shows "
    "how often. Of nodes on more than about .91 of the records nothing can be reported.",
    "A subpopulation or a site that no column tells makes labels go together that are independent "
    "within it. Such pairs are true of the data, and reported. Give the column as a stratum.",
    "An excess between two whole branches is told in the map of branches, not once a pair. In a "
    "branch that is nearly one label that map is where its pairs are told too.",
    "What is expected of a pair comes from the label pairs of its branches, less the excess of "
    "what is found among them. Where very many labels of one branch attract each other, no pair "
    "stands out to begin with: of twenty siblings that a hidden state brought, at true ratios of "
    "1.8 to 4.4, no pair was told in sixteen releases. The map of branches shows it.",
    "That what is found among the label pairs of two branches is taken out of what is expected "
    "there was chosen by these very releases of pairs. On ten others of each world, recall at "
    "ratio 2 and 50 was 633 of 656 (600 without it), 49 of 2,655 standing findings were false (40 "
    "of 2,650) and 4 of 220 null releases had a finding (4).",
    "On a DAG a pair is not judged where a label below both explains more than a tenth of the "
    "rarer node's records; pairs below it are.",
    "`redundant_nodes` counts instances, not groups: two nodes of one patient with many stays can "
    "look like one label.",
    "`model_habit` compares how often a model predicts two labels together with how often the "
    "data has them. A model that predicts one label far too often is told with each frequent "
    "label beside it; below, such findings count as explained where they name that label.",
    "Every model that mistakes all labels at one rate gives rare ones falsely more often than it "
    "misses them: true as a count, and no habit. `model_confuses` says so of any such answer in "
    "its table.",
    "A loss of depth since a reference may be one of the records and not of their coding: the "
    "scene of more records of a flat branch is told as one of cut labels is.",
    "A review by hand says which labels of ICD-9-CM only sound like catch-alls. Of tuberculosis "
    "(010-018) `unspecified` says how it was confirmed and is none, so that a habit planted there "
    "is not told, and is missed below.",
    "Rules on sex and age are tried on the few rows that speak of them in public data: "
    "[what came of it](finding_judgements.md#sex-and-age).",
    "Labels that one damaged row turns into another code are told by the checks on that code, "
    "and count as explained below where they name a damaged row.",
)


def _limits() -> Iterator[str]:
    yield "## What its limits are\n"
    for limit in LIMITS:
        yield textwrap.fill(f"- {limit}", WIDTH, subsequent_indent="  ", break_long_words=False)
    yield ""


def _real(folder: Path) -> Iterator[str]:
    yield "## Public data\n"
    yield _text(
        f"The first {TOP} findings of each release by severity, then by instances touched. The "
        "authors of this tool looked at each against the source rows and say which are sensible "
        "and why. **This is not the review of an expert** in medicine, sound or genetics. Where a "
        "finding is about instances with certain nodes, these were counted again from the rows "
        "with plain Python over sets."
    )
    for source in SOURCES:
        found = examined(source, folder)
        verdicts = [judgement(one.finding.id)[0] for one in found]
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
        yield f"### {source.name}\n"
        yield f"Sensible: {counts}.\n"
        yield table(
            ("finding", "instances", "counted again", "sensible", "why"),
            (_row(one) for one in found),
        )
    yield _text(
        "What is not sensible is a limit of the built-in policy, not of the counts. A policy with "
        "`expected` for pairs that are known to go together silences notes on them."
    )


def _row(one: Examined) -> tuple[str, ...]:
    verdict, why = judgement(one.finding.id)
    statement = one.statement.split(". ")[0].rstrip(".")
    told = f"`{one.finding.check}`: {statement}".replace("|", "/")
    again = "" if one.again is None else _count(one.again, one.min_cell)
    return told, _count(one.finding.touched, one.min_cell), again, verdict, why


def _count(n: int, min_cell: int) -> str:
    return f"<{min_cell}" if 0 < n < min_cell else f"{n:,}"


def _text(paragraph: str) -> str:
    filled_in = textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
    return filled_in + "\n"


if __name__ == "__main__":
    main()
