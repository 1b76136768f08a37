"""Attributions as JSON lines."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from audit.explanations.attributions import Attributions

FIELDS = ("id", "target", "method", "model", "seed", "gold", "predicted", "group")


def write_attributions(attributions: Attributions, path: Path) -> None:
    """Write one line per row: its fields as far as they are known, its tokens and its scores."""
    starts, tokens = attributions.words.starts, attributions.tokens
    texts = [tokens[int(start) : int(stop)].to_list() for start, stop in pairwise(starts)]
    with path.open("w", encoding="utf-8") as file:
        for place, row in enumerate(attributions.rows.iter_rows(named=True)):
            line = {field: row[field] for field in FIELDS if row[field] is not None}
            line["tokens"] = texts[row["text"]]
            line["scores"] = attributions.scores[place].tolist()
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
