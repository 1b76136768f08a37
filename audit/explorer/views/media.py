"""The text and the picture of an instance, from the file of media."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audit.base.errors import InputError
from audit.explorer.run.vocabulary import Media
from audit.explorer.site import Site, address, parameters
from reports.words.words import printable

LONGEST = 100_000
"""Characters of a text that are shown."""


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


def routes(site: Site) -> list[Route]:
    """Addresses of this file's pages."""
    return [Route("/media", partial(send_picture, site))]


def send_picture(site: Site, request: Request) -> Response:
    """The picture of an instance, or a page that says why there is none."""
    instance, media = parameters(request).get("id", ""), site.run.media
    try:
        picture = None if media is None else media.picture(instance)
    except InputError as error:
        return site.missing(request, _fault(error))
    if picture is None:
        return site.missing(request, f"There is no picture of an instance {instance}.")
    return Response(picture.content, media_type=picture.media_type)


def shown_media(media: Media, instance: str) -> Shown:
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
