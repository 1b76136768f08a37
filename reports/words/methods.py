"""Fixed thresholds, with unit and reason, for the chapter on methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from reports.words.parts import Table
from reports.words.table_specs import numbers, table, texts


@dataclass(frozen=True, slots=True)
class Fixed:
    """A threshold that is part of a method and not set by a policy.

    Args:
        where: The method that it belongs to.
        value: The number.
        unit: Unit of the number.
        reason: Why there is such a threshold.
        source: Module and name of the constant in the computation.
    """

    where: str
    value: float
    unit: str
    reason: str
    source: str


FIXED = (
    Fixed("Intervals", 0.95, "coverage", "What readers expect of an interval.",
          "audit.engine.statistics.intervals.LEVEL"),
    Fixed("Expected pairs", 2, "most specific labels of an instance, at least",
          "An instance with one label cannot carry two nodes through different labels.",
          "audit.engine.pairs.margins.LEAST_LABELS"),
    Fixed("Expected pairs", 20, "strata of record length, at most",
          "Records of about the same length are compared; more strata would add little.",
          "audit.engine.pairs.margins.MOST_STRATA"),
    Fixed("Expected pairs", 40, "instances for each stratum of length",
          "With fewer, a share within a stratum says little.",
          "audit.engine.pairs.margins.RECORDS_PER_STRATUM"),
    Fixed("Expected pairs", 10, "instances of a stratum crossed with a column, at least",
          "A smaller one joins the next length with the same value of the column.",
          "audit.engine.pairs.margins.LEAST_RECORDS"),
    Fixed("Expected pairs", 200, "separate branches, at most",
          "Beyond it the branches with the fewest labels count as one: pairs of branches grow with "
          "the square of their number.",
          "audit.engine.statistics.expectation.MOST_BRANCHES"),
    Fixed("Expected pairs", 20, "pairs of labels added to those between two branches",
          "Where two branches have few, length alone is nearly all that decides.",
          "audit.engine.statistics.expectation.PRIOR"),
    Fixed("Expected pairs", 1.5, "times its expectation, for a found pair to be taken out of that "
                                 "of others",
          "A smaller excess can be an error of the expectation, and is not taken out.",
          "audit.measure.pair_excess.LARGE_FIND"),
    Fixed("Expected pairs", 10, "rounds in which found pairs are taken out, at most",
          "It ends when no other such pairs are found.",
          "audit.measure.pair_excess.MOST_ROUNDS"),
    Fixed("Surprising pairs", 0.1, "share of the rarer node that one label may explain, at most",
          "Above it two nodes are nearly one subject; the pairs below them are judged instead.",
          "audit.measure.reported_pairs.ENTAILED_SHARE"),
    Fixed("Surprising pairs", 1.1, "times the expectation, at least",
          "In a large release a smaller excess can be certain and still be an error of the "
          "expectation.",
          "audit.engine.pairs.scan.LEAST_FACTOR"),
    Fixed("Surprising pairs", 0.9, "share of a pair’s instances that a pair below must hold",
          "Then the pair below says the same more precisely, and is reported instead.",
          "audit.engine.pairs.scan.NEARLY_ALL"),
    Fixed("Surprising pairs", 0.5, "share of the instances with a node, above which odds count too",
          "The ratio of a frequent node is bounded: at one half it cannot exceed 2.",
          "audit.measure.reported_pairs.FREQUENT"),
    Fixed("Surprising pairs", 3, "odds ratio there, at least",
          "At a share of one half a ratio of 1.5 is an odds ratio of 3.",
          "audit.measure.reported_pairs.ODDS_RATIO"),
    Fixed("Surprising pairs", 3, "pairs of children of one parent reported as one finding, at "
    "least",
          "Where more than half of all such pairs are found too, the parent is the subject.",
          "audit.measure.reported_pairs.FEWEST_CHILDREN"),
    Fixed("Surprising pairs", 0.5, "instances added to those observed, and to those expected",
          "A ratio of small counts is drawn toward 1 (Norén, Hopstadius and Bate 2013).",
          "audit.engine.statistics.association.SHRINKAGE"),
    Fixed("Residual share", 10, "parents, at least",
          "With fewer, no distribution of shares can be fitted, and each share is taken by itself.",
          "audit.engine.statistics.shrinkage.LEAST_SHARES"),
    Fixed("Residual shares compared", 5, "effective instances expected on each side",
          "With fewer, the test of two shares does not hold.",
          "audit.measure.residual_differences.LEAST_EXPECTED"),
    Fixed("Depth of labels compared", 10, "groups, or instances with labels, on each side",
          "With fewer, the error of a mean is not known.",
          "audit.engine.statistics.two_rates.LEAST_UNITS"),
    Fixed("Drift", 5, "instances expected in each of the four cells",
          "With fewer, the test of two shares does not hold.",
          "audit.measure.drift.LEAST_EXPECTED"),
    Fixed("Drift", 10, "groups there, and elsewhere", "The variance is taken over groups.",
          "audit.measure.drift.LEAST_GROUPS"),
    Fixed("duplicate_instance", 5, "different labels, at least",
          "Two short records of one group may be equal by coincidence.",
          "audit.checks.rules.duplicate_instance.LEAST_LABELS"),
    Fixed("group_confined", 10, "instances or groups with the node, at least",
          "Fewer may share one value by chance.", "audit.checks.rules.group_confined.LEAST_UNITS"),
    Fixed("record_cap", 3, "labels, at least",
          "Two shorter lengths are needed to say what to expect.",
          "audit.checks.rules.record_cap.LEAST_LENGTH"),
    Fixed("record_cap", 20, "instances at a length, at least",
          "Fewer are not a pile-up.", "audit.checks.rules.record_cap.LEAST_INSTANCES"),
    Fixed("record_cap", 1.5, "times the instances expected, at least",
          "A smaller pile-up can be certain and still not matter.",
          "audit.checks.rules.record_cap.LEAST_RATIO"),
    Fixed("record_cap", 0.01, "longer instances, as a share of those at the length, at most",
          "A cap lets few strays through.", "audit.checks.rules.record_cap.MOST_LONGER"),
    Fixed("record_cap", 0.95, "share of the instances at one length, at most",
          "Above it the length is how the data are built, not a cap.",
          "audit.checks.rules.record_cap.ONE_LENGTH"),
    Fixed("redundant_nodes", 10, "instances carrying each node, at least",
          "Fewer say nothing about how two nodes are used.",
          "audit.engine.pairs.redundancy.LEAST_SUPPORT"),
    Fixed("redundant_nodes", 3, "times the odds by chance of carrying both nodes, at least",
          "Two frequent nodes meet on many records whatever they mean.",
          "audit.engine.pairs.redundancy.BEYOND_CHANCE"),
    Fixed("redundant_nodes", 0.95, "share of a node’s instances beside another, at least",
          "Below it the node occurs alone too often for a rule.",
          "audit.engine.pairs.redundancy.ALWAYS"),
    Fixed("redundant_nodes", 0.5, "share of the instances with the other node, at most",
          "A node on most records occurs with nearly everything.",
          "audit.engine.pairs.redundancy.COMMON"),
    Fixed("redundant_nodes", 0.9, "share of a pair’s joint instances, at least",
          "A pair below that has nearly all of them names it.",
          "audit.engine.pairs.redundancy.NEARLY_ALL"),
    Fixed("wrong_table", 0.5, "share of a table’s rows",
          "Above it the table itself is wrong, not its rows.",
          "audit.checks.rules.wrong_table._MOST"),
)  # fmt: skip

OF_MODELS = (
    Fixed("Intervals by resampling", 200, "resamples",
          "Enough for the middle 95%; more would change little.",
          "audit.engine.statistics.resampling.REPLICATES"),
    Fixed("Metrics below a node", 30, "instances labelled at or below it, at least",
          "On fewer, intervals are too wide to compare nodes.",
          "audit.alignment.metrics.measure.SCOPE_INSTANCES"),
    Fixed("Metrics below a node", 50, "nodes at most", "Those with the most instances are "
    "reported.",
          "audit.alignment.metrics.measure.MAX_SCOPES"),
    Fixed("Behaviour", 0.9, "share of the mass", "From here on, the mass is in one place.",
          "audit.alignment.metrics.queries.CONFIDENT"),
    Fixed("Behaviour", 0.05, "share of the mass", "From here on, a parent was considered.",
          "audit.alignment.metrics.queries.NOTICED"),
    Fixed("Behaviour", 0.3, "share of the mass", "From here on, a branch is one of two rivals.",
          "audit.alignment.metrics.queries.SPLIT"),
    Fixed("Exchanged labels", 4, "labels among the mistakes, at least",
          "How often each of fewer is mistaken settles how often any two are exchanged.",
          "audit.checks.shared.exchanged_pairs.LEAST_LABELS"),
    Fixed("Exchanged labels", 3, "labels in whose place a model leans to one answer, at least",
          "Two may be confused with it each for a reason of its own.",
          "audit.checks.rules.model_confuses.LEAST_LABELS"),
    Fixed("Exchanged labels", 0.75, "share of a pair’s exchanges that give that answer, at least",
          "Labels that sound or look alike are exchanged both ways.",
          "audit.checks.rules.model_confuses.ONE_WAY"),
    Fixed("Exchanged labels", 1e-9, "of all exchanges, by which a fitted sum may be off",
          "More steps would change no number that is reported.",
          "audit.engine.scores.exchanges.TOLERANCE"),
    Fixed("Exchanges between branches", 15, "branches at most",
          "Those with the most mistakes are reported.",
          "audit.alignment.measure.MOST_BRANCHES"),
)  # fmt: skip
"""Thresholds used only by the chapters on a model."""


OF_EXPLANATIONS = (
    Fixed("Explanations by node", 10, "instances below a node, and as many elsewhere, at least",
          "On fewer, the test of two means does not hold.",
          "audit.explanations.branches.LEAST_INSTANCES"),
    Fixed("Reassignments of explanations", 999, "at most",
          "The smallest p-value is then 0.001.",
          "audit.explanations.importance.importance.PERMUTATIONS"),
    Fixed("Correlation with accuracy", 3, "points at least", "Two points always correlate fully.",
          "audit.explanations.importance.accuracy_correlation.LEAST_POINTS"),
    Fixed("Evidence", 0.5, "share of annotators from which a token counts as marked",
          "At least half of them.", "audit.explanations.agreement.plausibility.MARKED"),
    Fixed("Agreement by length", 4, "groups of texts, about equally large",
          "More would leave few texts in each.",
          "audit.explanations.agreement.agreement_tables.LENGTH_GROUPS"),
    Fixed("methods_disagree", 0.05, "agreement above chance, below which there is hardly any",
          "The upper bound of the interval must be below it.",
          "audit.explanations.checks.methods_disagree.MARGIN"),
    Fixed("evidence_ignored", 0.2, "difference on the scale of Fisher’s transform, at least",
          "Labels differ by less for other reasons, such as the words that name them.",
          "audit.explanations.checks.evidence_ignored.LEAST_GAP"),
    Fixed("unfaithful", 0.01, "comprehensiveness above random tokens, below which it counts as "
    "none",
          "The upper bound of the interval must be below it.",
          "audit.explanations.checks.unfaithful.MARGIN"),
)  # fmt: skip
"""Thresholds used only by the chapters on explanations."""


OF_CONCEPTS = (
    Fixed("Tests of concepts", 0.75, "accuracy, above which a concept is read",
          "The limit of the paper, which calls it arbitrary.",
          "audit.concepts.verdicts.LIMIT"),
    Fixed("Tests of concepts", 0.05, "distance from chance, up to which an accuracy counts as "
    "chance",
          "Closer than probes of a few hundred instances can distinguish.",
          "audit.concepts.verdicts.MARGIN"),
    Fixed("Tests of concepts", 0.9, "level of the interval within this margin",
          "Two one-sided tests at 5% each.", "audit.concepts.verdicts.EQUIVALENCE_LEVEL"),
    Fixed("Splits of concepts", 10_000, "instances at most",
          "More would change little; the most frequent classes are cut first.",
          "audit.concepts.splits.MOST_ROWS"),
    Fixed("Dimensions of concepts", 0.5, "share of instances with labels of several concepts",
          "Above it, most labels do not say which concept an instance has.",
          "audit.concepts.classes.MOST_AMBIGUOUS"),
    Fixed("Dimensions of concepts", 10, "folds of the classes of a nested one, at most",
          "Each fold is held out once.", "audit.concepts.classes.MOST_FOLDS"),
    Fixed("Further ablation", 6, "iterations", "Enough to see what is removed along with it.",
          "audit.concepts.further_ablation.ITERATIONS"),
    Fixed("Ablation", 1e-8, "share of the largest singular value, below which one counts as zero",
          "A probe of K concepts has K − 1 directions; the rest is rounding.",
          "audit.concepts.ablation.RANK_TOLERANCE"),
    Fixed("Probes of concepts", 1, "inverse strength of the squared penalty",
          "On features with mean squares of 1.", "audit.concepts.probes.REGULARISATION"),
    Fixed("Probes that are not linear", 256, "instances compared with",
          "Those of Nyström’s method.", "audit.concepts.probes.CENTRES"),
    Fixed("Concepts of nodes", 0.05, "false discovery rate", "What readers expect.",
          "audit.concepts.nodes.RATE"),
    Fixed("Concepts of nodes", 50_000, "instances at most", "More would change little.",
          "audit.concepts.nodes_below.MOST_INSTANCES"),
)  # fmt: skip
"""Thresholds used only by the chapters on concepts."""


OF_ENTAILMENT = (
    Fixed("Unique concepts", 0.5, "BLEU-1 against the others, at most", "That of AbsPyramid.",
          "audit.entailment.content.uniqueness.THRESHOLD"),
    Fixed("Near duplicates", 0.8, "Jaccard coefficient of shingles, at least",
          "Heads below it differ by more than a word or two.",
          "audit.entailment.content.near_duplicates.SIMILARITY"),
    Fixed("Weak labels", 0.8, "share of the votes, at least",
          "Four of five, as in AbsPyramid.",
          "audit.entailment.voting.agreement.CARRYING"),
    Fixed("Annotators", 20, "votes on tuples where the others have a majority, at least",
          "Fewer say nothing about an annotator.",
          "audit.entailment.voting.annotators.LEAST_COMPARED"),
    Fixed("Catch-alls", 30, "valid edges of a concept, at least",
          "With fewer, a share of a relation cannot be judged.",
          "audit.entailment.graph.concepts.LEAST_EDGES"),
    Fixed("Catch-alls", 0.02, "share of a relation’s valid edges",
          "The lower bound of the interval must be above it.",
          "audit.entailment.graph.concepts.SHARE"),
    Fixed("Catch-alls", 5, "times the edges of the concepts beside it, at least",
          "Concepts of the same instances are about equally general.",
          "audit.entailment.graph.concepts.EXCESS"),
    Fixed("Siblings that behave as one", 5, "instances in common, at least",
          "Fewer may be shared by chance.", "audit.entailment.graph.measure.LEAST_SHARED"),
    Fixed("Siblings that behave as one", 0.9, "Jaccard coefficient of their instances, at least",
          "Below it they count as different.", "audit.entailment.graph.measure.JACCARD"),
    Fixed("Detection", 0.5, "score from which a tuple is predicted valid",
          "Where a model gives only a score.", "audit.entailment.detection.measure.THRESHOLD"),
)  # fmt: skip
"""Thresholds used only by the chapters on an entailment graph."""


def fixed_table(*, model: bool, release: bool = True, further: Iterable[Fixed] = ()) -> Table:
    """Table of all fixed thresholds that the report relies on.

    Args:
        model: Whether it has chapters on a model.
        release: Whether it has chapters on a release; intervals are in every report.
        further: Those of the analyses that it has chapters on.
    """
    relied_on = (
        *(FIXED if release else FIXED[:1]),
        *(OF_MODELS if model else ()),
        *further,
    )
    return table(
        "fixed-table",
        "Thresholds that are part of a method",
        relied_on,
        texts("Of", attrgetter("where")),
        numbers("Value", attrgetter("value")),
        texts("Unit", attrgetter("unit")),
        texts("Reason", attrgetter("reason")),
    )
