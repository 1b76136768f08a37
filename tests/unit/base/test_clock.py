"""Each step of an audit is timed once, in the stage that its name says."""

from __future__ import annotations

import time

from audit.base.progress import Clock


def test_steps_add_up_to_the_time_that_passed() -> None:
    handed_on: list[str] = []
    begun = time.perf_counter()
    clock = Clock(lambda step, *_: handed_on.append(step))
    for step in ("reading labels", "judging pairs", "counting pairs", "judging pairs", "sealing"):
        clock(step)
        time.sleep(0.01)
    timings = clock.timings()
    passed = time.perf_counter() - begun

    assert handed_on[:2] == ["reading labels", "judging pairs"]
    assert [(one["stage"], one["step"]) for one in timings] == [
        ("read", "starting"),
        ("read", "reading labels"),
        ("judge", "judging pairs"),
        ("count", "counting pairs"),
        ("write", "sealing"),
    ]
    total = sum(float(one["seconds"]) for one in timings)
    assert 0.05 <= total <= passed + 0.005
    assert float(timings[2]["seconds"]) >= 0.02
