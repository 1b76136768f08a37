"""Attributions as JSON lines, with the passages that they are about."""

from __future__ import annotations

import json
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

from audit.explanations.attribution.texts import TokenisedTexts
from audit.explanations.attributions import Attributions

FIELDS = ("id", "target", "method", "model", "seed", "gold", "predicted", "group")


def write_with_passages(attributions: Attributions, texts: TokenisedTexts, path: Path) -> None:
    """Write a line per row: its known fields, tokens, scores, passage and offsets of the tokens.

    Evidence that comes as spans of characters can be joined to such a file;
    `audit.explanations.reading.writing.write_attributions` keeps a record with its own evidence.

    Args:
        attributions: From `audit.explanations.attribution.explain.explain`.
        texts: The texts of the rows; passages and offsets are written as far as they have them.
        path: The file; it is replaced.
    """
    starts, tokens = attributions.words.starts, attributions.tokens
    lists = [tokens[int(start) : int(stop)].to_list() for start, stop in pairwise(starts)]
    with path.open("w", encoding="utf-8") as file:
        for place, row in enumerate(attributions.rows.iter_rows(named=True)):
            line = {field: row[field] for field in FIELDS if row[field] is not None}
            line["tokens"] = lists[row["text"]]
            line["scores"] = attributions.scores[place].tolist()
            line |= _passage(texts, row["id"])
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _passage(texts: TokenisedTexts, text: str) -> dict[str, Any]:
    place = texts.place[text]
    passage: dict[str, Any] = {}
    if texts.passages is not None:
        passage["text"] = texts.passages[place]
    if texts.offsets is not None:
        passage["offsets"] = list(compress(texts.offsets[place], texts.open[place]))
    return passage
