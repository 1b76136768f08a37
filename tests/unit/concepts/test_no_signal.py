"""Without any signal, claims of one stay within the stated rate."""

from __future__ import annotations

import numpy as np
import pytest

from audit.analyses.concepts.classes import describe, draw_split
from audit.analyses.concepts.probes import fit_linear, quiet_fits
from audit.analyses.concepts.tables import judge_answers, part_frame
from audit.analyses.concepts.unseen_classes import Scene, unseen_rows
from audit.analyses.concepts.verdicts import REST, TOKEN, TRANSFER, Part, pool_answers
from fixtures.made_up_encoders import pure_noise, world_facets

RATE = 0.05


@pytest.mark.parametrize("simulations", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_probes_of_noise_are_told_to_be_above_chance_no_more_often_than_stated(
    simulations: int,
) -> None:
    encoded = pure_noise(20)
    described, ids = describe(encoded, world_facets()), encoded.instances["id"].to_list()
    split = draw_split(described, ids, 0)
    judged = np.bincount(split.class_of[split.ablating], minlength=18)
    alone = together = 0
    for seed in range(simulations):
        z = np.random.default_rng(seed).normal(size=(len(split.rows), 8))
        scene = Scene(z, split, described, None)
        answers = []
        with quiet_fits():
            for place in range(3):
                for fitted, rows in unseen_rows(scene, place):
                    probe = fit_linear(z[fitted], split.codes[fitted, place])
                    part = Part(TOKEN, place, REST, None, TRANSFER, place)
                    answers.append(scene.count(part, rows, probe(z[rows])))
        parts = part_frame(judge_answers(described, pool_answers(answers), judged))
        alone += int((parts["p_above_chance"] <= RATE).sum())
        together += int((parts["q_above_chance"] <= RATE).any())
        assert "pass" not in parts["interval_verdict"].to_list()

    assert alone <= most(3 * simulations)
    assert together <= most(simulations)


def most(tests: int) -> float:
    """The stated rate and three standard deviations of its count."""
    return RATE * tests + 3 * np.sqrt(RATE * (1 - RATE) * tests)
