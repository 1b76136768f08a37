"""What cannot be measured is refused with one message, or not applicable with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from audit.analyses.concepts.facets import Facets
from audit.analyses.concepts.measure import ConceptMeasurements, measure_concepts
from audit.analyses.concepts.representations import Representations, representations_of
from audit.base.errors import InputError
from fixtures.made_up_encoders import CLASSES, symbolic, world_facets

ENCODED = symbolic(4)


def of_rows(kept: pl.Expr) -> Representations:
    rows = ENCODED.instances.with_row_index().filter(kept)["index"].to_numpy()
    return Representations({"last": ENCODED.layers["last"][rows]}, ENCODED.instances[rows])


def without(name: str) -> Facets:
    whole = world_facets()
    return Facets(whole.table.filter(pl.col("node") != name), whole.kinds)


def of_one_concept() -> Facets:
    more = pl.DataFrame({"node": list(CLASSES), "dimension": "colour", "concept": "red"})
    whole = world_facets()
    return Facets(pl.concat([whole.table, more]), whole.kinds | {"colour": "crossed"})


def of_arrays(layers: dict[str, np.ndarray]) -> Callable[[], object]:  # type: ignore[type-arg]
    labels = [one[0] for one in ENCODED.instances["labels"].to_list()]
    return lambda: representations_of(layers, labels)


Z = ENCODED.layers["last"]
BAD: dict[str, tuple[str, Callable[[], object]]] = {
    "labels missing": ("describe every label", lambda: measured(ENCODED, without("dax"))),
    "one concept": ("at least two concepts", lambda: measured(ENCODED, of_one_concept())),
    "one instance": (
        "at least 2 instances",
        lambda: measured(of_rows((pl.col("pair") == "0") | (pl.col("labels").list[0] != "dax"))),
    ),
    "wide": (
        "no more features than there are instances",
        lambda: measured(replace(ENCODED, layers={"last": np.tile(Z, (1, 20))})),
    ),
    "no such layer": ("name of a layer", lambda: measured(ENCODED, layer="first")),
    "no seeds": ("at least 1", lambda: measured(ENCODED, seeds=0)),
    "other instances": (
        "instances of the trained one",
        lambda: measured(ENCODED, baseline=of_rows(pl.col("pair") != "0")),
    ),
    "constant": ("must differ in a feature", of_arrays({"last": np.ones_like(Z)})),
    "not a number": ("must be finite", of_arrays({"last": np.where(Z > 1, np.nan, Z)})),
    "of other instances": ("the same instances", of_arrays({"first": Z[:-1], "last": Z})),
}


def measured(
    representations: Representations, facets: Facets | None = None, **options: object
) -> ConceptMeasurements:
    return measure_concepts(
        representations,
        facets or world_facets(),
        **({"seeds": 1} | options),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message(name: str) -> None:
    message, attempt = BAD[name]
    with pytest.raises(InputError, match=message) as raised:
        attempt()

    assert raised.value.exit_status == 2


def reasons(found: ConceptMeasurements, dimension: str) -> set[str]:
    rows = found.frames["tests"].filter(dimension=dimension)
    assert set(rows["verdict"]) == {"not_applicable"}
    assert rows["parts"].sum() >= 0
    return set(rows["reason"])


def test_a_slice_without_an_unseen_class_is_not_applicable() -> None:
    """Three classes, a slice along the layout: no other slice is left."""
    along = pl.col("labels").list[0].is_in(["blick", "gix", "wug"])
    found = measured(of_rows(along))

    assert reasons(found, "layout") == {"no slice leaves a class unseen that could be judged"}
    assert all("fewer than two" in one for one in reasons(found, "stroke"))


def test_one_dimension_alone_has_nothing_to_be_compared_with() -> None:
    whole = world_facets()
    only = whole.table.filter(pl.col("dimension") == "layout")
    found = measured(ENCODED, Facets(only, {"layout": "crossed"}))

    assert set(found.frames["tests"].filter(dimension="layout")["verdict"]) == {"not_applicable"}


def test_labels_of_several_concepts_make_a_dimension_not_applicable() -> None:
    both = ENCODED.instances.with_columns(
        labels=pl.concat_list("labels", pl.lit(["yeld"], pl.List(pl.String)))
    )
    torn = of_rows(pl.col("labels").list[0].is_in(["blick", "nost"]))
    instances = pl.concat(
        [torn.instances, both.with_columns(pl.concat_str(pl.lit("b"), "id").alias("id"))]
    )
    layers = {"last": np.vstack([torn.layers["last"], Z])}
    found = measured(Representations(layers, instances), replace(world_facets(), partial=True))

    assert all("different concepts" in one for one in reasons(found, "layout"))
    assert found.ledger["labels_of_several_concepts"] > 0


@pytest.mark.slow
def test_the_rest_of_a_partial_table_is_counted() -> None:
    found = measured(ENCODED, replace(without("dax"), partial=True))

    assert found.ledger["labels_without_concepts"] == 4
    assert found.ledger["used"] == 17 * 4
    assert sum(found.frames["classes"]["instances"]) == 17 * 4
