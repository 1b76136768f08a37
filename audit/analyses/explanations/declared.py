"""What explanations are measured by, table by table: what each column is, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping

from audit.analyses.explanations.agreement import MAIN_K
from audit.base.declared import (
    NONE,
    Columns,
    Mark,
    Table,
    chance,
    count,
    estimate,
    key,
    mean,
    node,
    setting,
    text,
    total,
    whole,
)
from audit.base.figures import Curve, Matrix
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

_AGREEING = (
    *text("first second together", "Method|With|Or"),
    *whole("methods"),
    *text("rule", "Tokens"),
    *setting("k", "k"),
)
_AGREEMENT = (
    *mean("agreement", "Agreement", n="n", ends="low high", mark=Mark("", "chance_sizes")),
    *mean("chance_sizes", "Chance", n="n"),
    *mean("above_chance", "Above it", n="n", low=-1.0, ends="above_low above_high"),
    *estimate("corrected_sizes", n="n", reason="it has no least value"),
    *count("n", "Instances"),
)
TABLES: Mapping[str, Table] = {
    "alignment": Table(
        Columns(
            text("method model", "Method|Model"),
            key("oracle subset", "Oracle|Examples"),
            chance("absent", type="string"),
            chance("family"),
            estimate(
                "delta_a",
                "Delta-A",
                n="clusters",
                reason="a correlation",
                ends="low high",
                mark=Mark(),
            ),
            estimate("correlation delta_a_zeros", n="clusters", reason="correlations"),
            chance("p_t q", "|q"),
            mean("undefined_share", n="examples"),
            count("clusters", "Instances"),
            count("examples", of=NONE),
        ),
        title="Do the reasons align?",
        row="a method, model, oracle and subset",
    ),
    "plausibility": Table(
        Columns(
            text("method model", "Method|Model"),
            key("metric", "Metric"),
            mean("value", "Value", n="n", low=-1.0, ends="low high"),
            mean("chance", n="n", low=-1.0),
            count("n"),
        ),
        title="Scores against people's marks",
        row="a method, model and metric",
        across="method",
        first=16,
    ),
    "agreement": Table(
        Columns(text("model", "Model"), _AGREEING, _AGREEMENT),
        title="Do the methods agree?",
        row="two methods or a set of them, a rule and k",
        first=6,
        figures=(
            Matrix(
                title="agreement above that of random sets, at the peaks",
                row="first",
                column="second",
                value="above_chance",
                where=("rule", "dynamic"),
            ),
        ),
    ),
    "branches": Table(
        Columns(
            node("node", "Node", title="title"),
            whole("depth"),
            text("model method", "Model|Method"),
            key("measure", "Measure"),
            chance("family"),
            estimate(
                "mean", "Mean", n="instances", reason="a mean of several measures", ends="low high"
            ),
            chance("rest difference difference_low difference_high", "Elsewhere|Difference"),
            chance("smallest p_value q_value", "||q"),
            count("instances", "Instances"),
            count("examples", of=NONE),
        ),
        title="Where the reasons differ",
        row="a node, model, method and measure",
        first=6,
    ),
    "evidence": Table(
        Columns(
            node("node", "Node", title="title"),
            whole("depth"),
            text("model", "Model"),
            chance("compared", type="string"),
            chance("family"),
            mean("concordance", "Concordance", n="instances", mark=Mark()),
            mean("marked", "Marked", n="instances"),
            estimate("tokens", n="instances", reason="it has no fixed bounds"),
            chance(
                "concordance_elsewhere concordance_difference concordance_low concordance_high"
                " marked_elsewhere tokens_elsewhere p_value q_value",
                "Elsewhere||||||q",
            ),
            count("instances", "Instances"),
            count("examples", of=NONE),
        ),
        title="Evidence that scores follow",
        row="a node and model",
        first=6,
    ),
    "models": Table(
        Columns(
            text("method", "Method"),
            key("oracle", "Oracle"),
            text("model reference", "Model|Beside"),
            chance("warnings absent", type="string"),
            estimate(
                "estimate error low high",
                "Estimate|Error|From|To",
                n="examples",
                reason="coefficients",
            ),
            chance("p", "p"),
            estimate("cov_re residual_variance", n="examples", reason="variances"),
            count("examples", "Examples", of=NONE),
            count("differences", of=NONE),
        ),
        title="Models beside a reference",
        row="a method, oracle and model",
        fold=True,
    ),
    "accuracy": Table(
        Columns(
            text("method", "Method"),
            key("oracle subset", "Oracle|Examples"),
            text("data", "Data"),
            whole("n models", "Points"),
            text("absent"),
            chance("r", "r", ends="low high"),
            chance("p", "p"),
        ),
        title="Delta-A with accuracy",
        row="a method, oracle and subset",
        fold=True,
    ),
    "oracles": Table(
        Columns(
            text("method", "Method"),
            key("oracle other", "Oracle|With"),
            estimate("spearman pearson", "Spearman|Pearson", n="examples", reason="correlations"),
            estimate(
                "mean_spearman",
                "Within examples",
                n="examples",
                reason="a correlation",
                ends="low high",
            ),
            count("examples", "Examples", of=NONE),
            count("texts", of=NONE),
            total("tokens"),
        ),
        title="How far oracles agree",
        row="two oracles",
        fold=True,
    ),
    "lengths": Table(
        Columns(
            chance("tokens_from tokens_to", "Tokens from|To"),
            text("model", "Model"),
            _AGREEING,
            _AGREEMENT,
        ),
        row="the same for texts of one length",
        records=True,
    ),
    "differences": Table(
        Columns(
            text("model first second", "Model|Method|With"),
            setting("k", "k"),
            mean("dynamic fixed", "Peaks|First k", n="n"),
            mean("difference", "Difference", n="n", low=-1.0, ends="low high"),
            count("n"),
        ),
        title="Peaks beside a fixed k",
        row="two methods",
        fold=True,
    ),
    "gains": Table(
        Columns(
            text("model method", "Model|Method"),
            whole("pairs"),
            setting("k", "k"),
            estimate("gain", "Gain", n="n", reason="a sum over pairs of methods", ends="low high"),
            count("n"),
        ),
        title="Peaks less a fixed k, summed over pairs",
        row="a method and k",
        fold=True,
        figures=(Curve(x="k", value="gain", series="method"),),
    ),
    "chosen": Table(
        Columns(
            text("model method", "Model|Method"),
            setting("k", "k"),
            estimate("tokens", "Tokens", n="n", reason="they have no fixed bounds"),
            estimate("peaks", "Peaks", n="n", reason="they have no fixed bounds", ends="low high"),
            estimate("sd", n="n", reason="they have no fixed bounds"),
            mean("tied constant", "Tied|Constant", n="n"),
            count("n", "Instances"),
        ),
        title="Tokens chosen",
        row="a method",
        fold=True,
    ),
    "runs": Table(
        Columns(
            text("model", "Model"),
            setting("seed", "Seed"),
            chance("median", "Median", type="boolean"),
            estimate(
                "difference",
                "Average difference",
                n="instances",
                reason="it has no fixed bounds",
                ends="low high",
            ),
            estimate("per_token", "Per token", n="instances", reason="it has no fixed bounds"),
            count("instances", "Instances"),
            count("rows", of=NONE),
            chance("longest", type="integer"),
        ),
        title="Differences of runs",
        row="a run of a model",
        fold=True,
    ),
    "spans": Table(
        Columns(
            text("method model", "Method|Model"),
            key("rule match", "Tokens|Right are"),
            total("labels"),
            mean("precision recall", "Precision|Recall", n="n"),
            mean("micro", "Micro F1", n="n", ends="micro_low micro_high"),
            mean("macro", "Macro F1", n="n", ends="macro_low macro_high"),
            count("n"),
        ),
        title="Spans of evidence",
        row="a method, rule and match",
        fold=True,
    ),
}
"""Every table by its name."""
FACTS = Columns(
    count("rows_read rows left_out", "Rows read|Rows kept|Counted", of=NONE),
    count("instances instances_without_labels", "Instances|Without labels"),
    count("examples labels", "Explained labels|Different labels", of=NONE),
    text("methods models evidence only compat", "Methods|Models|Evidence|Labels|By the rules of"),
    whole("seeds", "Runs"),
    chance("annotators", "Annotators"),
    setting("draws k", "Draws|k"),
)
"""What each fact is."""
SAYS = (
    Sentence(
        "[By {method} the reasons of {model} fit the evidence with a Delta-A of {delta_a} ({low} to"
        " {high}).]",
        "alignment",
        where={"subset": ["all"]},
    ),
)


_METHOD = (("method", "method"), ("model", "model"))
_COMPARED = (("method", "first"), ("method", "together"), ("other", "second"), ("model", "model"))
HEADLINES = (
    Headline(
        "alignment",
        "delta_a",
        "clusters",
        (*_METHOD, ("oracle", "oracle")),
        "delta_a",
        where={"subset": ["all"]},
    ),
    Headline(
        "agreement",
        "agreement",
        "n",
        (*_COMPARED, ("k", "k")),
        "agreement",
        where={"k": [None, MAIN_K]},
    ),
    Headline("plausibility", "value", "n", _METHOD, called="metric"),
    Headline(
        "branches",
        "mean",
        "instances",
        _METHOD[1:],
        called="measure",
        scope="node",
        where={"method": [None]},
    ),
)
"""Delta-A on all examples, agreement by peaks and at the main k, plausibility; and what nodes are
compared by, as means of all methods.
"""
