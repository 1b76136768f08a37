"""Faults planted in the sample: what is likely is right as often as is said, in five bins; where
people decide by the truth, all are mended and nothing else is moved.
"""

from __future__ import annotations

import csv
import random
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

from fixtures.coded import icd9cm
from fixtures.sample_runs import run_command

RELEASE = Path(__file__).parents[2] / "sample_data" / "release_1"
TABLE = "DIAGNOSES_ICD.csv"
KNOWN = {node.replace(".", "") for node in icd9cm().nodes}


def slip(code: str, kind: str, draws: random.Random) -> str:
    place = draws.randrange(len(code))
    before, sign, after = code[:place], code[place], code[place + 1 :]
    return {
        "other": before + draws.choice("0123456789") + after,
        "exchanged": before + after[:1] + sign + after[1:],
        "doubled": before + sign + sign + after,
        "lost": before + after,
        "cut": code[:3],
    }[kind]


def records_of(folder: Path) -> dict[str, list[str]]:
    """Codes of each record, in the order of its rows."""
    found = defaultdict[str, list[str]](list)
    with (folder / TABLE).open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[row["HADM_ID"]].append(row["ICD9_CODE"])
    return found


def write(folder: Path, records: dict[str, list[str]]) -> None:
    """Write a copy of the release with other codes."""
    shutil.copytree(RELEASE, folder)
    rows = [(one, code) for one, own in records.items() for code in own]
    with (folder / TABLE).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("HADM_ID", "ICD9_CODE"), *rows])


def wrong(code: str, draws: random.Random) -> dict[str, str]:
    """What a code becomes by each kind of fault that leaves no code."""
    kind = draws.choice(["other", "exchanged", "doubled", "lost"])
    return {"zeros lost": code.lstrip("0"), "slip": slip(code, kind, draws)}


def excess(own: list[str]) -> dict[str, str]:
    """The code that a record has beside its own, by kind of fault."""
    return {
        "heading beside": own[0][:3] if own[0][:3].isdigit() else "",
        "twice": own[0],
        "excluded": "5859" if "4019" in own and not any(c[:3] == "585" for c in own) else "",
    }


def fault(kind: str, own: list[str], draws: random.Random) -> tuple[list[str], str, str] | None:
    """A record's codes with a fault, the label at fault, the decision; None if it can have none."""
    if kind == "companion lost":
        lost = [code for code in own if code[:4] == "2506"]
        rest = [code for code in own if code not in lost[:1]]
        return (rest, "", f"other: {lost[0]}") if lost and "3572" in own else None
    for place, code in enumerate(own):
        new = wrong(code, draws).get(kind, code) if code in KNOWN and len(code) > 3 else code
        if new not in KNOWN.union(own):
            return [*own[:place], new, *own[place + 1 :]], new, f"other: {code}"
    new = excess(own).get(kind, "")
    fits = new in KNOWN and own.count(new) == (kind == "twice") and new not in {"4011", "4019"}
    return ([*own, new], new, "remove") if fits else None


KINDS = (*wrong("0389", random.Random(1)), *excess(["0389"]), "companion lost")


@pytest.mark.slow
def test_what_is_decided_by_the_truth_is_mended_and_nothing_else(tmp_path: Path) -> None:
    sound, draws = records_of(RELEASE), random.Random(5)
    broken, truth, planted_of = {**sound}, dict[tuple[str, str], str](), Counter[str]()
    free = draws.sample([*sound], len(sound))
    for kind in KINDS:
        for one in [one for one in free if broken[one] is sound[one]]:
            found = fault(kind, sound[one], draws) if planted_of[kind] < 30 else None
            if found:
                broken[one], label, truth[one, label] = found
                planted_of[kind] += 1
    write(tmp_path / "release", broken)
    run, sheet, copy = tmp_path / "run", tmp_path / "sheet.csv", tmp_path / "copy"
    run_command(
        *("run", tmp_path / "release", "--hierarchy", "icd9cm", "--no-pdf", "--keep-instances"),
        *("--out", run),
    )

    run_command("fixes", run, "--csv", sheet)
    proposed = pl.read_csv(sheet, infer_schema=False).fill_null("")
    decided = [truth.pop((one, x), "") for one, x in proposed.select("instance", "label").rows()]
    proposed.with_columns(decision=pl.Series(decided)).write_csv(sheet)
    run_command("apply", run, "--decisions", sheet, "--by", "me", "--out", copy)

    assert {kind for kind in KINDS if planted_of[kind] > 1} == {*KINDS}
    assert truth == {}
    mended = records_of(copy)
    assert {one: Counter(own) for one, own in mended.items()} == {
        one: Counter(own) for one, own in sound.items()
    }
