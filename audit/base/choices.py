"""What settings choose between, by name."""

from __future__ import annotations

from typing import Literal, TypeAlias

Engine: TypeAlias = Literal["memory", "stream", "spark"]
"""How to count: all in memory, in batches of a file, or on Apache Spark."""
Unlisted: TypeAlias = Literal["refuse", "hang"]
"""Treatment of labels that a hierarchy lacks: refuse them, or add them where their digits say."""
Dangling: TypeAlias = Literal["refuse", "drop"]
"""Treatment of edges with an end that is not a node: refuse the hierarchy, or leave them out."""
Ids: TypeAlias = Literal["names", "paths"]
"""What nodes go by where a file has no ids: their names, or all names on the way to them."""
Transform: TypeAlias = Literal["softmax", "sigmoid", "percent"]
"""Function that turns a model's outputs into scores: over all columns of a row, or elementwise."""
Join: TypeAlias = Literal["by_order", "by_id"]
"""What joins rows of predictions and instances of labels: their order, or ids, which are row
numbers from 0 where there are none."""
Levels: TypeAlias = Literal["depth", "paper"]
"""Cuts that metrics move between: depths from the root, or the paper's levels from the leaves."""
Aggregation: TypeAlias = Literal["descendants", "paths", "mimic"]
"""``descendants``: a node's value and that of each node below it, once (the sentence under
Algorithm 1 of *Abstraction Alignment*). ``paths``: Algorithm 1 as printed, where a value counts
once for every path that leads up from its node. ``mimic``: the released code for MIMIC-III, where
a node with a value of its own keeps it, and any other has the sum of its children's.

On a tree whose inner nodes have no value of their own, all three are equal."""
