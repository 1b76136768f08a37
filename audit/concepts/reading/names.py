"""Names of arrays and columns in files of representations."""

from __future__ import annotations

from collections.abc import Iterable

from audit.base.errors import SchemaError, first_cases

LAYER = "layer:"
"""What the name of a layer begins with in a file."""
LAYERS = "layers"
"""The names of the layers in the order in which a model computes them, if not that of the file."""
COLUMNS = ("id", "labels", "prediction", "pair")
HEAD = ("head_weight", "head_bias", "head_classes")


def layer_names(
    names: Iterable[str], others: Iterable[str], what: str, where: object
) -> dict[str, str]:
    """The layers of a file: the name of each, and that of its array or column, in file order.

    Args:
        names: Names of all arrays or columns.
        others: Those that may be there besides layers.
        what: What they are, for messages.
        where: The file.

    Raises:
        SchemaError: If a name is none of these, or no layer is among them.
    """
    names, others = list(names), list(others)
    layers = {name.removeprefix(LAYER): name for name in names if name.startswith(LAYER)}
    unknown = [name for name in names if not name.startswith(LAYER) and name not in others]
    if unknown or not layers:
        raise SchemaError(
            f"the {what} must be a {LAYER}NAME for each layer and, beside them,"
            f" {', '.join(others)}",
            found=first_cases(unknown or names) if names else f"no {what}",
            where=where,
            hint="rename or drop the others" if layers else f"begin the name with {LAYER}",
        )
    return layers


def in_order(layers: dict[str, str], order: Iterable[str] | None, where: object) -> dict[str, str]:
    """The layers in a stated order, each once; SchemaError if it does not name just them."""
    if order is None:
        return layers
    stated = [name.removeprefix(LAYER) for name in order]
    if sorted(stated) != sorted(layers):
        raise SchemaError(
            f"{LAYERS} must name each layer once",
            found=f"{first_cases(stated)} for {first_cases(layers)}",
            where=where,
        )
    return {name: layers[name] for name in stated}
