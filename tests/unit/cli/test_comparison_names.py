"""The names that a comparison gives to two runs of the same data."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.sample_runs import run_command

SCORES = "id,dog,cow\n7,0.25,0.75\n3,1,0\n"


@pytest.mark.parametrize(
    ("titles", "heading"),
    [
        ((), "labels.csv with january.csv → labels.csv with february.csv"),
        (("--title", "Ward"), "Ward"),
    ],
)
def test_two_models_of_one_dataset_are_told_apart(
    titles: tuple[str, ...], heading: str, tmp_path: Path
) -> None:
    (tmp_path / "labels.csv").write_text("id,label\n7,cow\n3,dog\n")
    (tmp_path / "tree.csv").write_text("child,parent\ndog,animal\ncow,animal\n")
    for month, scores in (("january", SCORES), ("february", SCORES.replace("1,0", "0.5,0.5"))):
        (tmp_path / f"{month}.csv").write_text(scores)
        data = (tmp_path / "labels.csv", "--hierarchy", tmp_path / "tree.csv", "--no-pdf", *titles)
        model = ("--predictions", tmp_path / f"{month}.csv", "--out", tmp_path / month)
        run_command("run", *data, *model)
    out = tmp_path / "models"
    run_command("compare", tmp_path / "january", tmp_path / "february", "--out", out)
    page = (out / "comparison.html").read_text("utf-8")
    assert heading in page.split("<h1", 1)[1].split("</h1>", 1)[0]
