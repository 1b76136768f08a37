"""``audit attributions``: scores of tokens, from a model and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from audit.base.disk import on_disk, written_whole
from audit.base.errors import OutputError
from audit.base.plurals import counted
from audit.base.settings import Argument, Option
from audit.cli.output import shown_progress


def attributions(
    model: Annotated[
        str,
        Argument(
            "Function that gives a model and its tokenizer, as Transformers has them.",
            metavar="PACKAGE:FUNCTION",
        ),
    ],
    data: Annotated[Path, Argument("Texts: id, text and, if it is known, the true label.")],
    method: Annotated[
        tuple[str, ...],
        Option("Method, in place of the six of Dynamic top-k; may be repeated."),
    ] = (),
    link: Annotated[
        Literal["identity", "sigmoid", "softmax"],
        Option("Explain outputs as they are, their sigmoid or their softmax."),
    ] = "identity",
    device: Annotated[
        str | None, Option("PyTorch device; without one, a GPU where there is one.")
    ] = None,
    seed: Annotated[int, Option("Seed of the draws of LIME and Partition SHAP.")] = 0,
    out: Annotated[Path, Option("File of attributions, JSON lines.", writes=True)] = Path(
        "attributions.jsonl"
    ),
) -> None:
    """Attribute a model's outputs to the tokens of texts, for `audit explanations`."""
    if out.exists():
        raise OutputError("a new file is required", found="one that exists", where=out)
    with shown_progress() as progress:
        from audit.base.machine import require_package

        require_package("torch", "to explain a model")
        from audit.explanations.attribution.from_module import PAPER_METHODS, attribute

        with on_disk(out.parent), written_whole(out) as passing:
            rows = attribute(
                model,
                data,
                passing,
                method or PAPER_METHODS,
                link=link,
                device=device,
                seed=seed,
                progress=progress,
            )
    typer.echo(f"{counted(rows, 'rows')}: {out}")
