"""The text and the picture of an instance, and what a method of explanation marks in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from audit.base.errors import InputError
from audit.explorer.links import address
from audit.explorer.run.attribution_shelf import Attribution
from audit.explorer.run.media import MediaFile
from audit.explorer.run.vocabulary import Row
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from reports.charts.palette import shade
from reports.words.words import printable

LONGEST = 100_000
"""Characters of a text that are shown."""
MOST = 10_000
"""Tokens that are shown; the table has all."""
CHOICES = {"target": "Label", "model": "Model", "method": "Method", "seed": "Seed"}
"""What an attribution is chosen by, each choice among those that the earlier ones leave."""
SCORES = (
    Column("token", "Token", "named"),
    Column("place", "Place", "count"),
    Column("score", "Score", "precise"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of an instance.

    Args:
        text: Its text, cut where it is too long; empty without one.
        further: How many characters are left out.
        picture: Address of its picture; empty without one.
        fault: Why the picture that is named is not shown; empty if it is.
    """

    text: str
    further: int
    picture: str
    fault: str


@dataclass(frozen=True, slots=True)
class Token:
    """A token; ``shade`` is from 0, which is no mark, to 4."""

    text: str
    shade: int
    against: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """The values that may be chosen, each with the address that chooses it; none at the chosen."""

    words: str
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Marks:
    """An attribution on its text.

    Args:
        shown: The attribution.
        switches: The choices that lead to others.
        tokens: The tokens that are shown.
        further: How many are left out.
        sheet: The scores, the largest first.
    """

    shown: Attribution
    switches: Sequence[Switch]
    tokens: Sequence[Token]
    further: int
    sheet: Sheet


def send_picture(site: Site, request: Request) -> Response:
    """The picture of an instance, or a page that says why there is none."""
    instance, media = parameters(request).get("id", ""), site.run.media
    try:
        picture = None if media is None else media.picture(instance)
    except InputError as error:
        raise NotThereError(_fault(error)) from None
    if picture is None:
        raise NotThereError(f"There is no picture of an instance {instance}.")
    return Response(picture.content, media_type=picture.media_type)


def shown_media(media: MediaFile, instance: str) -> Shown:
    """The text and the picture of an instance, for its page."""
    text, picture, fault = media.text(instance) or "", "", ""
    try:
        if media.picture(instance) is not None:
            picture = address("/media", id=instance)
    except InputError as error:
        fault = _fault(error)
    return Shown(text[:LONGEST], max(len(text) - LONGEST, 0), picture, fault)


def _fault(error: InputError) -> str:
    return printable(f"{error.where}: {error.required}; found {error.found}.")


def marks(site: Site, request: Request, rows: Sequence[Attribution]) -> Marks:
    """The attribution that an address asks for.

    Args:
        site: The application.
        request: The request.
        rows: All attributions of the instance, at least one.
    """
    shown, switches = _chosen(rows, parameters(request))
    scores = _scores(shown)
    caption = f"Scores of {len(scores):,} tokens, the largest first"
    sheet = site.sheet(request, "scores", caption, SCORES, scores)
    largest = max(map(abs, shown.scores))
    tokens = [
        Token(token, shade(score, largest), score < 0)
        for token, score in zip(shown.tokens[:MOST], shown.scores, strict=False)
    ]
    return Marks(shown, switches, tokens, len(scores) - len(tokens), sheet)


def _chosen(
    rows: Sequence[Attribution], asked: dict[str, str]
) -> tuple[Attribution, Sequence[Switch]]:
    """The attribution of an address, and the switches that have more than one value."""
    kept = {name: value for name, value in asked.items() if name not in ("start", "csv")}
    switches = []
    for name, words in CHOICES.items():
        values = list(dict.fromkeys(getattr(row, name) for row in rows))
        value = asked[name] if asked.get(name) in values else values[0]
        others = [
            (other, "" if other == value else address("/instance", **kept | {name: other}))
            for other in values
        ]
        if len(values) > 1:
            switches.append(Switch(words, others))
        rows = [row for row in rows if getattr(row, name) == value]
    return rows[0], switches


def _scores(shown: Attribution) -> Sequence[Row]:
    """``token, place, score``: the largest score first, whatever its sign."""
    rows = [
        {"token": token, "place": place, "score": score}
        for place, (token, score) in enumerate(
            zip(shown.tokens, shown.scores, strict=True), start=1
        )
    ]
    return sorted(rows, key=lambda row: (-abs(shown.scores[int(row["place"]) - 1]), row["place"]))


PAGES = {"/media": send_picture}
