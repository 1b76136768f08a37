"""Curves of concepts: layer by layer, and as ablation goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from audit._reports.charts.curves import CURVES, steps_spec
from audit._reports.charts.svg import draw
from audit._reports.words.concept_words import ABLATIONS, PROBES
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, bounds, grouped, mean, plain
from audit._reports.words.table_specs import decimals, interval_beside, numbers, table, texts
from audit._reports.words.words import UNDEFINED, counted, number, percent

MEASURES: Mapping[str, str] = {
    "direct": "one probe of the classes",
    "composed": "all dimensions right at once",
    "product": "product of the dimensions",
    "nmi": "mutual information of both answers",
}
"""Measures by layer that are of all dimensions together; ``product`` is not drawn."""
NUMBERED = 12
"""Number of layers above which the axis has their numbers in place of their names."""
ABLATED = 4
"""Largest number of dimensions with a curve of further ablation."""

Curves = list[tuple[str, list[dict[str, Any]]]]


def layers(concepts: Mapping[str, Any]) -> Chapter | None:
    """Curves by layer, or a table alone where there is one layer; None without any."""
    rows = concepts["layer_curves"]
    if not rows:
        return None
    by_dimension = [row for row in rows if row["measure"] == "probe"]
    together = [row for row in rows if row["measure"] != "probe"]
    names = [layer for _, layer in sorted({(row["place"], row["layer"]) for row in rows})]
    limit = concepts["facts"]["parameters"]["limit"]
    tables = (
        _layer_table("concept-layers", "Each dimension by layer", by_dimension),
        _layer_table("concept-classes-by-layer", "All dimensions together by layer", together),
    )
    if len(names) < 2:
        return chapter([], tables)
    figures = (
        _layers_figure(by_dimension, names, tables[0], limit),
        _together_figure(together, names, tables[1]),
    )
    return chapter(figures, tables)


def _places(names: list[str]) -> list[str]:
    many = len(names) > NUMBERED
    return [str(place) for place in range(1, len(names) + 1)] if many else names


def _curve(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        {"place": row["place"], "value": row["value"], **bounds(row)}
        for row in sorted(rows, key=lambda row: row["place"])
    ]


def _drawable(curves: Curves) -> Curves:
    known = [one for one in curves if any(row["value"] is not None for row in one[1])]
    return known[: len(CURVES)]


def _layers_figure(rows: Rows, names: list[str], behind: Table, limit: float) -> Figure | None:
    dimensions = list(dict.fromkeys(row["dimension"] for row in rows))
    curves = _drawable(
        [
            (f"{name} ({_chance(rows, name)})", _curve(r for r in rows if r["dimension"] == name))
            for name in dimensions
        ]
    )
    if not curves:
        return None
    rest = len(dimensions) - len(curves)
    return Figure(
        id="concept-layers",
        title="Each dimension, layer by layer",
        drawing=draw(steps_spec(curves, _places(names), "layer", limit)),
        alt=_described(curves, names),
        caption="Accuracy of a linear probe of each dimension at each layer, in the order in which "
        "the model computes them, with 95% intervals; in brackets, chance. The probes saw every "
        "class, and are judged on other instances." + _further(names, rest),
        key_title="Across",
        key=(Key("limit", f"limit, {number(limit)}", "across"),),
        table=behind,
    )


def _together_figure(rows: Rows, names: list[str], behind: Table) -> Figure | None:
    curves = _drawable(
        [
            (title, _curve(row for row in rows if row["measure"] == measure))
            for measure, title in MEASURES.items()
            if measure != "product"
        ]
    )
    if not curves:
        return None
    return Figure(
        id="concept-classes-by-layer",
        title="The whole and its parts, layer by layer",
        drawing=draw(steps_spec(curves, _places(names), "layer", None)),
        alt=_described(curves, names),
        caption="One probe that answers with the whole class, beside the answer that the probes of "
        "the dimensions give together, which is right where all of them are. The normalised mutual "
        "information says how far the two answers, right or wrong, determine each other: where it "
        "is low, a layer does not hold the class as the sum of its concepts." + _further(names, 0),
        key_title="",
        key=(),
        table=behind,
    )


def _further(names: list[str], rest: int) -> str:
    numbered = " Layers are numbered; the table has their names." if len(names) > NUMBERED else ""
    return numbered + (f" {counted(rest, 'further dimension')} only in the table." if rest else "")


def _chance(rows: Rows, dimension: str) -> str:
    known = [row for row in rows if row["dimension"] == dimension and row["chance"] is not None]
    return plain(known[-1], "chance", 2) if known else UNDEFINED


def _described(curves: Curves, names: list[str]) -> str:
    """The first and the last value of each curve."""
    sentences = []
    for name, rows in curves:
        known = [row for row in rows if row["value"] is not None]
        first, last = known[0], known[-1]
        sentences.append(
            f"{name} from {plain(first, 'value', 2)} at {names[first['place']]} to "
            f"{plain(last, 'value', 2)} at {names[last['place']]}"
        )
    return f"{counted(len(curves), 'curve')}: {'; '.join(sentences)}."


def _layer_table(id_: str, caption: str, rows: Rows) -> Table:
    return table(
        f"{id_}-numbers",
        f"{caption}: means over splits",
        rows,
        texts("Layer", "layer"),
        texts("What", lambda row: row["dimension"] or MEASURES[row["measure"]]),
        interval_beside(decimals("Value", "value")),
        decimals("Chance", "chance"),
        numbers("Instances", "instances"),
    )


def ablation(concepts: Mapping[str, Any]) -> Chapter | None:
    """What is read as ablation goes on, by dimension removed; None without any."""
    by_dimension = grouped(_over_splits(concepts["iterations"]), ["dimension"])
    tables = [_ablation_table(own, place) for place, own in enumerate(by_dimension)]
    figures = [
        _ablation_figure(own, tables[place], place)
        for place, own in enumerate(by_dimension[:ABLATED])
    ]
    return chapter(figures, tables)


def _over_splits(rows: Rows) -> list[dict[str, Any]]:
    """Means over the splits that go as far."""
    return [
        {
            **own[0],
            **{
                name: mean([row[name] for row in own])
                for name in ("accuracy", "chance", "removed", "variance_kept")
            },
            "splits": len(own),
        }
        for own in grouped(rows, ["dimension", "ablation", "iteration", "read", "probe"])
    ]


def _ablation_figure(rows: Rows, behind: Table, place: int) -> Figure | None:
    dimension = rows[0]["dimension"]
    own = [row for row in rows if row["read"] == dimension]
    names = [f"{dimension}, {PROBES[probe]}" for probe in PROBES]
    curves = [
        (name, _iterations(row for row in own if row["probe"] == probe))
        for name, probe in zip(names, PROBES, strict=True)
    ]
    others = dict.fromkeys(row["read"] for row in rows if row["read"] != dimension)
    curves += [
        (
            f"{other}, {PROBES['transfer']}",
            _iterations(r for r in rows if r["read"] == other and r["probe"] == "transfer"),
        )
        for other in others
    ]
    drawn = _drawable(curves)
    if not drawn:
        return None
    last = max(row["iteration"] for row in rows)
    places = ["before", *map(str, range(1, last + 1))]
    chances = {row["chance"] for row in own if row["chance"] is not None}
    level = sum(chances) / len(chances) if chances else None
    return Figure(
        id=f"concept-ablation-{place}",
        title=f"Removing {dimension} again and again",
        drawing=draw(steps_spec(drawn, places, "iterations of INLP", None, level=level)),
        alt=_described(drawn, ["no ablation", *(f"iteration {n}" for n in range(1, last + 1))]),
        caption="Mean accuracies over the splits that go as far, on other instances of classes "
        f"that were seen. The grey line is chance along {dimension}. The paper’s tests use the "
        "first iteration. Where the curves of other dimensions fall too, removing one removes the "
        "others.",
        key_title="Across",
        key=(Key("expected", "chance", "across"),),
        table=behind,
    )


def _iterations(rows: Iterable[Row]) -> list[dict[str, Any]]:
    steps = [row for row in rows if row["ablation"] == "inlp"]
    return [
        {"place": row["iteration"], "value": row["accuracy"], "low": None, "high": None}
        for row in sorted(steps, key=lambda row: row["iteration"])
    ]


def _ablation_table(rows: Rows, place: int) -> Table:
    dimension, order = rows[0]["dimension"], list(PROBES)
    lines = sorted(
        rows,
        key=lambda row: (
            row["ablation"], row["iteration"], row["read"] != dimension,
            row["read"], order.index(row["probe"]),
        ),
    )  # fmt: skip
    return table(
        f"concept-ablation-{place}-numbers",
        f"What is read after {dimension} is removed",
        lines,
        texts("Removed by", _step),
        texts("Read", "read"),
        texts("By", "probe", PROBES),
        decimals("Accuracy", "accuracy"),
        decimals("Chance", "chance"),
        numbers("Directions removed", "removed", absent=UNDEFINED),
        numbers("Variance left", "variance_kept", percent, absent=UNDEFINED),
        numbers("Splits", "splits"),
    )


def _step(row: Row) -> str:
    if row["iteration"] == 0:
        return "nothing yet"
    by = ABLATIONS[row["ablation"]]
    return by if row["ablation"] == "leace" else f"{by}, iteration {row['iteration']}"
