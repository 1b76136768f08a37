"""What explanations are measured by, table by table: what each column is, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping

from audit.base import declared as kinds
from audit.base.declared import NONE, Columns, Mark, Table, chance, count, estimate, key, mean, text
from audit.base.figures import Curve, Matrix
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

MAIN_K = 4
"""The fixed k of figure 3 of *Dynamic Top-k Estimation*."""
_UNBOUNDED = "it has no fixed bounds"
_ENDS = "low high"
_OF = text("method model", "Method|Model")
_NODE = (*kinds.node("node", "Node", title="title"), *kinds.whole("depth"), *text("model", "Model"))
_INSTANCES = (*count("instances", "Instances"), *count("examples", of=NONE))
_AGREEMENT = (
    *text("first second together", "Method|With|Or"),
    *kinds.whole("methods"),
    *text("rule", "Tokens"),
    *kinds.setting("k", "k"),
    *mean("agreement", "Agreement", n="n", ends=_ENDS, mark=Mark("", "chance_sizes")),
    *mean("chance_sizes", "Chance", n="n"),
    *mean("above_chance", "Above it", n="n", low=-1.0, ends="above_low above_high"),
    *estimate("corrected_sizes", n="n", reason="it has no least value"),
    *count("n", "Instances"),
)
TABLES: Mapping[str, Table] = {
    "alignment": Table(
        Columns(
            _OF,
            key("oracle subset", "Oracle|Examples"),
            chance("absent", type="string"),
            chance("family"),
            estimate(
                "delta_a", "Delta-A", n="clusters", reason="a correlation", ends=_ENDS, mark=Mark()
            ),
            estimate("correlation delta_a_zeros", n="clusters", reason="correlations"),
            chance("t p_t q", "||q"),
            mean("undefined_share", n="examples"),
            count("clusters", "Instances"),
            count("examples", of=NONE),
        ),
        title="Do the reasons align?",
        row="a method, model, oracle and subset",
    ),
    "plausibility": Table(
        Columns(
            _OF,
            key("metric", "Metric"),
            mean("value", "Value", n="n", low=-1.0, ends=_ENDS),
            mean("chance", n="n", low=-1.0),
            count("n"),
        ),
        title="Scores against people's marks",
        row="a method, model and metric",
        across="method",
        first=16,
    ),
    "agreement": Table(
        Columns(text("model", "Model"), _AGREEMENT),
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
    "evidence": Table(
        Columns(
            _NODE,
            chance("compared", type="string"),
            chance("family"),
            mean("concordance", "Concordance", n="instances", mark=Mark()),
            mean("marked", "Marked", n="instances"),
            estimate("tokens", n="instances", reason=_UNBOUNDED),
            chance(
                "concordance_elsewhere concordance_difference concordance_low concordance_high"
                " marked_elsewhere tokens_elsewhere p_value q_value",
                "Elsewhere||||||q",
            ),
            _INSTANCES,
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
            kinds.whole("n models", "Points"),
            text("absent"),
            chance("r", "r", ends=_ENDS),
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
                "mean_spearman", "Within examples", n="examples", reason="a correlation", ends=_ENDS
            ),
            count("examples", "Examples", of=NONE),
            count("texts", of=NONE),
            kinds.total("tokens"),
        ),
        title="How far oracles agree",
        row="two oracles",
        fold=True,
    ),
    "lengths": Table(
        Columns(
            chance("tokens_from tokens_to", "Tokens from|To"), text("model", "Model"), _AGREEMENT
        ),
        row="the same for texts of one length",
        records=True,
    ),
    "differences": Table(
        Columns(
            text("model first second", "Model|Method|With"),
            kinds.setting("k", "k"),
            mean("dynamic fixed", "Peaks|First k", n="n"),
            mean("difference", "Difference", n="n", low=-1.0, ends=_ENDS),
            count("n"),
        ),
        title="Peaks beside a fixed k",
        row="two methods",
        fold=True,
    ),
    "gains": Table(
        Columns(
            text("model method", "Model|Method"),
            kinds.whole("pairs"),
            kinds.setting("k", "k"),
            estimate("gain", "Gain", n="n", reason="a sum over pairs of methods", ends=_ENDS),
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
            kinds.setting("k", "k"),
            estimate("tokens", "Tokens", n="n", reason=_UNBOUNDED),
            estimate("peaks", "Peaks", n="n", reason=_UNBOUNDED, ends=_ENDS),
            estimate("sd", n="n", reason=_UNBOUNDED),
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
            kinds.setting("seed", "Seed"),
            chance("median", "Median", type="boolean"),
            estimate(
                "difference", "Average difference", n="instances", reason=_UNBOUNDED, ends=_ENDS
            ),
            estimate("per_token", "Per token", n="instances", reason=_UNBOUNDED),
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
            _OF,
            key("rule match", "Tokens|Right are"),
            kinds.total("labels"),
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
    kinds.whole("seeds", "Runs"),
    chance("annotators", "Annotators"),
    kinds.setting("draws k", "Draws|k"),
)
"""What each fact is."""
_ALL = {"subset": ["all"]}
SAYS = (
    Sentence(
        "[By {method} the reasons of {model} fit the evidence with a Delta-A of {delta_a} ({low} to"
        " {high}).]",
        "alignment",
        where=_ALL,
    ),
)
_NAMED = (("method", "method"), ("model", "model"))
_SETS = (("method", "first"), ("method", "together"), ("other", "second"), _NAMED[1], ("k", "k"))
_AT = {"k": [None, MAIN_K]}
HEADLINES = (
    Headline(
        "alignment", "delta_a", "clusters", (*_NAMED, ("oracle", "oracle")), "delta_a", where=_ALL
    ),
    Headline("agreement", "agreement", "n", _SETS, "agreement", where=_AT),
    Headline("plausibility", "value", "n", _NAMED, called="metric"),
)
"""Delta-A on all examples, agreement by peaks and at the main k, and plausibility."""
