"""Attributions as JSON lines."""

from __future__ import annotations

import json
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

from audit.explanations.attribution.texts import TokenisedTexts
from audit.explanations.attributions import Attributions

FIELDS = ("id", "target", "method", "model", "seed", "gold", "predicted", "group")


def write_attributions(
    attributions: Attributions, path: Path, texts: TokenisedTexts | None = None
) -> None:
    """Write a line per row: its fields as far as they are known, its tokens and its scores.

    Args:
        attributions: From `audit.explanations.attribution.explain.explain`.
        path: The file; it is replaced.
        texts: The texts of the rows. Each line then holds the passage and the offsets of its
            tokens as well, as far as they are there, so that spans can be found in it.
    """
    starts, tokens = attributions.words.starts, attributions.tokens
    lists = [tokens[int(start) : int(stop)].to_list() for start, stop in pairwise(starts)]
    with path.open("w", encoding="utf-8") as file:
        for place, row in enumerate(attributions.rows.iter_rows(named=True)):
            line = {field: row[field] for field in FIELDS if row[field] is not None}
            line["tokens"] = lists[row["text"]]
            line["scores"] = attributions.scores[place].tolist()
            line |= _passage(texts, row["id"]) if texts else {}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _passage(texts: TokenisedTexts, text: str) -> dict[str, Any]:
    place = texts.place[text]
    passage: dict[str, Any] = {}
    if texts.passages is not None:
        passage["text"] = texts.passages[place]
    if texts.offsets is not None:
        passage["offsets"] = list(compress(texts.offsets[place], texts.open[place]))
    return passage
