"""The scenes: which there are, and a release of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from validation.scene import Scene, Seen
from validation.scenes_of_codes import (
    BOTH,
    FOURTH,
    NAMED,
    PROCEDURES,
    beside_specific,
    by_hand,
    decimal,
    guidelines,
    lacked,
    lost_zeros,
    number,
    plain,
    whole_numbers,
)
from validation.scenes_of_depths import cut, habits, mixed, sites
from validation.scenes_of_stays import copied, habits_of_sites, open_labels, vanishing
from validation.scenes_of_trees import (
    all_at,
    asked_for,
    branches,
    exclusive,
    half_at_the_limit,
    left_out,
    model,
    pairs_stay,
    residual,
    roots,
    ruled,
    site_is_told,
    split,
    stray,
    ten_above,
)

SEED = 13


def seen(name: str, number: int, instead: Mapping[str, Any] | None = None) -> Seen:
    """Draw a release of a scene, audit it, and hold what the check tells against the facts.

    Args:
        name: Of the scene.
        number: Of the release.
        instead: Lines that take the place of those of its policy.
    """
    scene = next(scene for scene in SCENES if scene.name == name)
    drawn = scene.draw(np.random.default_rng([SEED, *scene.name.encode(), number]))
    if instead:
        drawn = replace(drawn, policy=drawn.policy.model_copy(update=instead))
    return Seen.of(scene, number, drawn)


def seen_in_turn(number: int) -> Seen:
    """A release of each scene in turn: of all of them the releases 0, 1, 2 and so on."""
    return seen(SCENES[number % len(SCENES)].name, number // len(SCENES))


SCENES = (
    Scene("zeros in front, table known", "lost_zero",
          "60 procedures without dots lose their zeros in front.",
          partial(lost_zeros, clean=plain, damage=number, tables=BOTH, known=True, n=60)),
    Scene("whole numbers, table known", "lost_zero",
          "All procedures become numbers such as 40.0.", whole_numbers),
    Scene("numbers with decimals, table known", "lost_zero",
          "60 procedures with dots lose zeros at both ends.",
          partial(lost_zeros, clean=str, damage=decimal, tables=BOTH, known=True, n=60)),
    Scene("numbers with decimals, one unknown table", "lost_zero",
          "Procedures alone with dots, no table told; 15 lose zeros.",
          partial(lost_zeros, clean=str, damage=decimal, tables=(PROCEDURES,), known=False, n=15)),
    Scene("zeros in front, two unknown tables", "lost_zero",
          "Both code sets, no table told; 40 diagnoses lose zeros.",
          partial(lost_zeros, clean=plain, damage=number, tables=BOTH[::-1], known=False, n=40)),
    Scene("numbers with decimals, unknown table", "lost_zero",
          "Both code sets with dots, no table told; 15 procedures lose zeros.",
          partial(lost_zeros, clean=str, damage=decimal, tables=BOTH, known=False, n=15)),
    Scene("codes as text, table known, null", "lost_zero",
          "No zero is lost.",
          partial(lost_zeros, clean=plain, damage=number, tables=BOTH, known=True, n=0)),
    Scene("codes as text, unknown table, null", "lost_zero",
          "No zero is lost, with dots.",
          partial(lost_zeros, clean=str, damage=number, tables=BOTH, known=False, n=0)),
    Scene("labels that a file lacks", "unknown_code",
          "Of some 500 codes a file of the hierarchy lacks 15.",
          partial(lacked, unlisted="refuse", absent=15)),
    Scene("labels that are hung", "unknown_code",
          "The same, and the caller asks to hang them.",
          partial(lacked, unlisted="hang", absent=15)),
    Scene("a file that lacks nothing, null", "unknown_code",
          "The file has every code.", partial(lacked, unlisted="refuse", absent=0)),
    Scene("all parents at the limit, null", "residual_overuse",
          "120 parents with a true share of exactly the limit, .5.",
          partial(residual, share=all_at(0.5))),
    Scene("all at the limit, patients repeat, null", "residual_overuse",
          "The same, each patient with three equal stays.",
          partial(residual, share=all_at(0.5), stays=3)),
    Scene("half of the parents at the limit, null", "residual_overuse",
          "60 parents at .5, 60 at .1.", partial(residual, share=half_at_the_limit)),
    Scene("homogeneous shares, null", "residual_overuse",
          "120 parents with a true share of .45.", partial(residual, share=all_at(0.45))),
    Scene("ten parents above the limit", "residual_overuse",
          "10 parents from .65 to .9, 110 from 0 to .5.", partial(residual, share=ten_above)),
    Scene("titles that only sound residual, null", "residual_overuse",
          "Labels such as 416.8, secondary pulmonary hypertension, on most records below their "
          "parent.",
          partial(by_hand, pairs=NAMED, residual=False)),
    Scene("catch-alls that no title tells", "residual_overuse",
          "Labels such as 403.91, whose fourth digit leaves the kind open and whose fifth names a "
          "stage, on most records below their parent.",
          partial(by_hand, pairs=FOURTH, residual=True)),
    Scene("companion rules", "missing_companion",
          "Two rules of a policy, each broken 12 times, one kept in the wrong order 12 times; "
          "near misses.",
          partial(ruled, violations=12)),
    Scene("companion rules kept, null", "missing_companion",
          "The near misses alone: given, given below a needed node, excused, in the right order.",
          partial(ruled, violations=0)),
    Scene("guidelines of ICD-9-CM", "missing_companion",
          "Four guidelines, each broken 12 times and kept 25 times.",
          partial(guidelines, violations=12)),
    Scene("guidelines kept, null", "missing_companion",
          "The same, kept.", partial(guidelines, violations=0)),
    Scene("exclusive nodes", "sibling_exclusive",
          "Two of three groups broken 8 times each; near misses on one side, or with an ancestor.",
          partial(exclusive, violations=8)),
    Scene("exclusive nodes kept apart, null", "sibling_exclusive",
          "The near misses alone.", partial(exclusive, violations=0)),
    Scene("labels at roots", "not_specific",
          "120 records with nothing but roots, 200 with a root beside more.",
          partial(roots, alone=120)),
    Scene("roots beside more, null", "not_specific",
          "200 records with a root beside more.", partial(roots, alone=0)),
    Scene("labels cut to their parents", "not_specific",
          "600 records, and 600 as a reference; of the labels of two of four branches nine in ten "
          "are cut to their parents since.",
          partial(cut, share=0.9), by_chance=True),
    Scene("labels cut less than is told, null", "not_specific",
          "The same with three in ten cut: a loss of about 0.14, below the limit of 0.25.",
          partial(cut, share=0.3)),
    Scene("the law of the reference, null", "not_specific",
          "The same with none cut.", partial(cut, share=0.0), by_chance=True),
    Scene("more records of a flat branch", "not_specific",
          "A tenth of the records of the reference have labels of a branch with a level less, and "
          "half of those now. None is cut: what is told is a change of the records, and called "
          "false here.",
          partial(mixed, then=0.1, now=0.5), scored=False),
    Scene("few persons with habits, null", "not_specific",
          "12 persons with 40 stays each, then and now; each has branches for labels or leaves, "
          "by the toss of a coin. The policy tells any loss beyond chance.",
          habits, by_chance=True),
    Scene("unspecified beside specific", "unspecific_beside_specific",
          "30 records; others have the two of different parents, or a catch-all of the kind other.",
          partial(beside_specific, both=30)),
    Scene("unspecified alone, null", "unspecific_beside_specific",
          "The others alone.", partial(beside_specific, both=0)),
    Scene("a site that cuts labels", "depth_shift",
          "2,000 records of four sites; one with three in ten of them cuts nine in ten labels of "
          "two of four branches to their parents.",
          partial(sites, share=0.9), by_chance=True),
    Scene("a site that gives more labels", "depth_shift",
          "The same site gives up to two labels more a record, and cuts none.",
          partial(sites, longer=2), by_chance=True),
    Scene("sites of a flat branch, null", "depth_shift",
          "One site in four has half of its records in a branch with a level less, the others a "
          "tenth; none cuts labels.",
          partial(sites, flat=(0.1, 0.5, 0.1, 0.1)), by_chance=True),
    Scene("persons of one site with habits, null", "depth_shift",
          "100 persons of 20 records each, each of one site; each has branches for labels or "
          "leaves, by the toss of a coin.",
          partial(sites, persons=100), by_chance=True),
    Scene("records under other ids", "copied_records",
          "Of 6,000 independent records one in a hundred stands again.",
          partial(copied, copies=60), by_chance=True),
    Scene("independent records, null", "copied_records",
          "The same without copies.", partial(copied, copies=0), by_chance=True),
    Scene("usual sets of labels, null", "copied_records",
          "A third of the records have six usual labels, each on nine in ten, and hardly more.",
          partial(copied, copies=0, usual=0.33), by_chance=True),
    Scene("few labels and one length, null", "copied_records",
          "Each record has five of 20 labels.",
          partial(copied, copies=0, fixed=True), by_chance=True),
    Scene("records under other ids beside usual sets", "copied_records",
          "Usual sets on a third of the records, and one record in fifty stands again.",
          partial(copied, copies=120, usual=0.33), by_chance=True),
    Scene("templates that nobody edits", "copied_records",
          "300 further records are one of four forms. They are told, and called false here.",
          partial(copied, copies=0, templates=300), by_chance=True, scored=False),
    Scene("a site writes a label as its sibling", "sibling_shift",
          "20,000 records of four sites; of the first label of the most frequent of 60 parents "
          "one site writes three in ten as the second.",
          partial(habits_of_sites, moved=0.3, records=20000), by_chance=True),
    Scene("a site of other patients writes a label as its sibling", "sibling_shift",
          "The same, and each site sees the parents at rates of its own.",
          partial(habits_of_sites, moved=0.3, records=20000, apart=True), by_chance=True),
    Scene("sites of other patients, null", "sibling_shift",
          "Each site sees the parents at rates of its own; all code alike.",
          partial(habits_of_sites, moved=0.0, apart=True), by_chance=True),
    Scene("sites whose patients come again, null", "sibling_shift",
          "2,500 persons with four records each, most of whose labels come back; all code alike.",
          partial(habits_of_sites, moved=0.0, repeated=4), by_chance=True),
    Scene("the same without groups, null", "sibling_shift",
          "The same, and nobody says which records are of one person: what is told is that, and "
          "called false here.",
          partial(habits_of_sites, moved=0.0, repeated=4, told=False),
          by_chance=True, scored=False),
    Scene("a coder in five who leaves labels open", "residual_pairs",
          "4,500 records of 1,500 persons below 60 headings; on those of one in five half of "
          "the specific labels are written as catch-alls.",
          partial(open_labels, hurried=0.2), by_chance=True),
    Scene("labels left open by chance, null", "residual_pairs",
          "The same without such persons.", partial(open_labels, hurried=0.0), by_chance=True),
    Scene("long records leave more labels open, null", "residual_pairs",
          "The same, and each label is a catch-all instead at five per cent times its record's "
          "length.", partial(open_labels, hurried=0.0, longer=True), by_chance=True),
    Scene("a site that leaves labels open, null", "residual_pairs",
          "One person in five is of a site that does, and the site is a stratum.",
          partial(open_labels, hurried=0.2, site=True), by_chance=True),
    Scene("a lifelong condition left out", "chronic_gap",
          "120 persons with some six stays each have a condition that half of the stays leave out "
          "(.495, of each person at a rate of its own); 120 others do not have it.",
          partial(vanishing, missed=0.495), by_chance=True),
    Scene("a lifelong condition coded by mistake, null", "chronic_gap",
          "The same with one stay in ten left out, and one in fifty of the others' with it.",
          partial(vanishing, missed=0.1, by_mistake=0.02), by_chance=True),
    Scene("a lifelong condition left out at the limit, null", "chronic_gap",
          "One stay in five leaves it out, of each person at a rate of its own.",
          partial(vanishing, missed=0.2), by_chance=True),
    Scene("a site makes the pairs", "missing_stratum",
          "Two sites use ten labels each twenty times as often as the other; no pair goes "
          "together within a site.",
          partial(site_is_told, apart=True, real=0), by_chance=True),
    Scene("a site makes some of the pairs", "missing_stratum",
          "The same, and three pairs go together everywhere.",
          partial(site_is_told, apart=True, real=3), by_chance=True),
    Scene("real pairs at two sites, null", "missing_stratum",
          "Three pairs go together everywhere; the sites differ in nothing.",
          partial(site_is_told, apart=False, real=3), by_chance=True),
    Scene("real pairs within a stratum", "unexpected_pair",
          "A site makes pairs and three go together everywhere; the site is a stratum.",
          partial(pairs_stay, real=3, strata=("site",))),
    Scene("a pair that a rule asks for, null", "unexpected_pair",
          "Independent records; 60 have a label and the one that a rule asks for.", asked_for),
    Scene("branches without a rule, null", "cross_branch",
          "Half of the records have labels of any two of 8 branches; no rule.",
          partial(branches, disjoint=False)),
    Scene("branches with a rule", "cross_branch",
          "The same, and a policy calls two of them disjoint.", partial(branches, disjoint=True)),
    Scene("a random split, null", "split_leak",
          "1,500 patients with 2,000 labels in a long tail, split at random by patient.",
          split, by_chance=True),
    Scene("patients in both splits", "split_leak",
          "The same, 10 patients of several stays in both.",
          partial(split, torn=10), by_chance=True),
    Scene("labels kept out of training", "split_leak",
          "500 labels, 40 of those on 5 to 9 records kept out of training.",
          partial(split, labels=5, held_back=40), by_chance=True),
    Scene("a calibrated model, null", "model_habit",
          "A model that misses and adds by chance, and answers headings too.",
          partial(model, stronger=1.0)),
    Scene("a habit made stronger", "model_habit",
          "The same, with one pair of labels on 2.5 times as many records.",
          partial(model, stronger=2.5)),
    Scene("labels that people find left out", "label_omitted",
          "1,500 records and a model that adds a label in twenty; three labels are left out of "
          "three in ten records that have them. 40 answers of each label are judged.",
          partial(left_out, omitted=0.3), by_chance=True),
    Scene("a model that adds labels, null", "label_omitted",
          "The same with one in fifty left out of every label: a quarter of the answers is right.",
          partial(left_out, omitted=0.02), by_chance=True),
    Scene("one stray code", "unknown_code",
          "One of 48,389 rows is no node: a warning, no error.", partial(stray, stray=1)),
    Scene("strays on one row in 500", "unknown_code",
          "97 of 48,389 rows are no node: an error.", partial(stray, stray=97)),
)  # fmt: skip
"""All scenes, by check."""
