"""Pure functions over arrays: propagation, pair counts, confusion, statistics.

What several of them take has one name and one meaning, which their docstrings do not repeat. Shapes
begin with (n_instances, n_nodes), or (n_records, n_nodes) where records take part in a test:

- ``closure[i, a]`` is 1 where a is i or an ancestor of i, ``strict_closure`` without the diagonal;
  ``below`` is its transpose, and ``edges[child, parent]`` is 1; all of shape (n_nodes, n_nodes).
- ``direct`` and ``labels`` hold 1 at direct labels, ``specific`` at the most specific labels of a
  record, ``decided`` at what a model predicts; 0 elsewhere.
- ``aggregated`` holds the aggregated values, ``carried`` and ``carriers`` any value where a node is
  carried; stored values are positive, and matrices are canonical CSR.
- ``support`` is the number of instances that carry each node, ``branch_of`` the branch of each node
  (negative: none, or one whose labels are not counted between branches), shape (n_nodes,).
"""
