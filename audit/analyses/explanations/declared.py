"""What explanations are measured by, table by table: what each column is, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping

from audit.analyses.tables import folded, table
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
_METHOD, _K = text("method", "Method"), kinds.setting("k", "k")
_NODE = (*kinds.node("node", "Node", title="title"), *kinds.whole("depth"), *text("model", "Model"))
_INSTANCES = (*count("instances", "Instances"), *count("examples", of=NONE))
_AGREEMENT = (
    *text("first second together", "Method|With|Or"),
    *kinds.whole("methods"),
    *text("rule", "Tokens"),
    *_K,
    *mean("agreement", "Agreement", n="n", ends=_ENDS, mark=Mark("", "chance_sizes")),
    *mean("chance_sizes", "Chance", n="n"),
    *mean("above_chance", "Above it", n="n", low=-1.0, ends="above_low above_high"),
    *estimate("corrected_sizes", n="n", reason="it has no least value"),
    *count("n", "Instances"),
)
_BY_METHOD = text("model method", "Model|Method")
_AT_PEAKS = Matrix(
    title="agreement above that of random sets, at the peaks",
    row="first",
    column="second",
    value="above_chance",
    where=("rule", "dynamic"),
)
_ELSEWHERE = (
    "concordance_elsewhere concordance_difference concordance_low concordance_high marked_elsewhere"
    " tokens_elsewhere p_value q_value"
)
TABLES: Mapping[str, Table] = {
    "alignment": table(
        "Do the reasons align?",
        "a method, model, oracle and subset",
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
    "plausibility": table(
        "Scores against people's marks",
        "a method, model and metric",
        _OF,
        key("metric", "Metric"),
        mean("value", "Value", n="n", low=-1.0, ends=_ENDS),
        mean("chance", n="n", low=-1.0),
        count("n"),
        across="method",
        first=16,
    ),
    "agreement": table(
        "Do the methods agree?",
        "two methods or a set of them, a rule and k",
        text("model", "Model"),
        _AGREEMENT,
        first=6,
        figures=(_AT_PEAKS,),
    ),
    "evidence": table(
        "Evidence that scores follow",
        "a node and model",
        _NODE,
        chance("compared", type="string"),
        chance("family"),
        mean("concordance", "Concordance", n="instances", mark=Mark()),
        mean("marked", "Marked", n="instances"),
        estimate("tokens", n="instances", reason=_UNBOUNDED),
        chance(_ELSEWHERE, "Elsewhere||||||q"),
        _INSTANCES,
        first=6,
    ),
    "models": folded(
        "Models beside a reference",
        "a method, oracle and model",
        _METHOD,
        key("oracle", "Oracle"),
        text("model reference", "Model|Beside"),
        chance("warnings absent", type="string"),
        estimate(
            "estimate error low high", "Estimate|Error|From|To", n="examples", reason="coefficients"
        ),
        chance("p", "p"),
        estimate("cov_re residual_variance", n="examples", reason="variances"),
        count("examples", "Examples", of=NONE),
        count("differences", of=NONE),
    ),
    "accuracy": folded(
        "Delta-A with accuracy",
        "a method, oracle and subset",
        _METHOD,
        key("oracle subset", "Oracle|Examples"),
        text("data", "Data"),
        kinds.whole("n models", "Points"),
        text("absent"),
        chance("r", "r", ends=_ENDS),
        chance("p", "p"),
    ),
    "oracles": folded(
        "How far oracles agree",
        "two oracles",
        _METHOD,
        key("oracle other", "Oracle|With"),
        estimate("spearman pearson", "Spearman|Pearson", n="examples", reason="correlations"),
        estimate(
            "mean_spearman", "Within examples", n="examples", reason="a correlation", ends=_ENDS
        ),
        count("examples", "Examples", of=NONE),
        count("texts", of=NONE),
        kinds.total("tokens"),
    ),
    "lengths": table(
        "",
        "the same for texts of one length",
        chance("tokens_from tokens_to", "Tokens from|To"),
        text("model", "Model"),
        _AGREEMENT,
        records=True,
    ),
    "differences": folded(
        "Peaks beside a fixed k",
        "two methods",
        text("model first second", "Model|Method|With"),
        _K,
        mean("dynamic fixed", "Peaks|First k", n="n"),
        mean("difference", "Difference", n="n", low=-1.0, ends=_ENDS),
        count("n"),
    ),
    "gains": folded(
        "Peaks less a fixed k, summed over pairs",
        "a method and k",
        _BY_METHOD,
        kinds.whole("pairs"),
        _K,
        estimate("gain", "Gain", n="n", reason="a sum over pairs of methods", ends=_ENDS),
        count("n"),
        figures=(Curve(x="k", value="gain", series="method"),),
    ),
    "chosen": folded(
        "Tokens chosen",
        "a method",
        _BY_METHOD,
        _K,
        estimate("tokens", "Tokens", n="n", reason=_UNBOUNDED),
        estimate("peaks", "Peaks", n="n", reason=_UNBOUNDED, ends=_ENDS),
        estimate("sd", n="n", reason=_UNBOUNDED),
        mean("tied constant", "Tied|Constant", n="n"),
        count("n", "Instances"),
    ),
    "runs": folded(
        "Differences of runs",
        "a run of a model",
        text("model", "Model"),
        kinds.setting("seed", "Seed"),
        chance("median", "Median", type="boolean"),
        estimate("difference", "Average difference", n="instances", reason=_UNBOUNDED, ends=_ENDS),
        estimate("per_token", "Per token", n="instances", reason=_UNBOUNDED),
        count("instances", "Instances"),
        count("rows", of=NONE),
        chance("longest", type="integer"),
    ),
    "spans": folded(
        "Spans of evidence",
        "a method, rule and match",
        _OF,
        key("rule match", "Tokens|Right are"),
        kinds.total("labels"),
        mean("precision recall", "Precision|Recall", n="n"),
        mean("micro", "Micro F1", n="n", ends="micro_low micro_high"),
        mean("macro", "Macro F1", n="n", ends="macro_low macro_high"),
        count("n"),
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
