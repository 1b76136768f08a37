"""Joint counts and concept confusion of scores on a PyTorch device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from audit.base.dag import IntArray, Sparse
from audit.base.errors import InputError
from audit.base.machine import require_package
from audit.base.progress import Progress, blocks, silent
from audit.engine.scores.score_loops import COUNTING, Met, met_of, safe_factors

if TYPE_CHECKING:
    import torch

DEVICES = ("cpu", "cuda")
"""Names of the devices."""
SCORES_PER_BLOCK = {"cpu": 400_000, "cuda": 24_000_000}
"""Number of scores, zeros included, that are on a device at a time: on a CPU as many as its cache
holds, on a GPU so many that the computation takes longer than launching it."""
ARRAYS = 8
"""Number of arrays of a block's size that counting the block may need at a time."""


def device_named(name: str) -> torch.device:
    """The PyTorch device of that name.

    Args:
        name: One of `DEVICES`.
    """
    if name not in DEVICES:
        raise InputError(f"a device is one of {', '.join(DEVICES)}", found=name)
    require_package("torch", f"to count on the device {name}")
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "a CUDA device that PyTorch can use is required",
            found=f"none; PyTorch {torch.__version__}",
            hint="--device cpu, or count without --device",
        )
    return torch.device(name)


def met_on(
    name: str,
    scores: Sparse,
    threshold: float,
    used: IntArray,
    progress: Progress = silent,
) -> list[Met]:
    """Count the pairs of scores at a threshold on a device.

    Args:
        name: One of `DEVICES`.
        scores: Shape (n_instances, n_nodes), canonical CSR.
        threshold: Scores below it are ignored; above 0.
        used: Nodes whose score reaches the threshold on some instance, ascending.

    Returns:
        For each node in ``used``, the positions in ``used`` of the later nodes that it meets, with
        joint counts and confusion.

    Takes (scores at the threshold) * len(used) / 2 steps, and holds 2 len(used)^2 sums.
    """
    device = device_named(name)
    import torch

    n_nodes, factors = len(used), safe_factors(scores.data, threshold)
    try:
        joint = torch.zeros((n_nodes, n_nodes), dtype=torch.float64, device=device)
        entropy = torch.zeros_like(joint)
        rows = _rows_per_block(device, n_nodes)
        for start in blocks(progress, COUNTING, range(0, scores.shape[0], rows), "instances"):
            values = _at_threshold(scores, start, start + rows, threshold, used, device)
            carried = (values > 0).to(torch.float64)
            joint += carried.T @ carried
            _add_entropies(values, torch.special.xlogy(values, values), factors, entropy)
    except torch.OutOfMemoryError:
        raise InputError(
            f"memory for the sums of all pairs is required on the device {name}",
            found=f"too little for {n_nodes:,} nodes",
            hint="count without --device",
        ) from None
    return _lines(joint, entropy)


def _rows_per_block(device: torch.device, n_nodes: int) -> int:
    import torch

    scores = SCORES_PER_BLOCK[device.type]
    if device.type == "cuda":
        scores = min(scores, torch.cuda.mem_get_info(device)[0] // (ARRAYS * 8))
    return max(scores // max(n_nodes, 1), 1)


def _at_threshold(
    scores: Sparse, start: int, stop: int, threshold: float, used: IntArray, device: torch.device
) -> torch.Tensor:
    """Scores of some instances from the threshold up, 0 elsewhere, (n_instances, len(used))."""
    import torch

    ends = torch.tensor(scores.indptr[start : stop + 1], dtype=torch.int64)
    stored = slice(int(ends[0]), int(ends[-1]))
    values = torch.tensor(scores.data[stored], dtype=torch.float64, device=device)
    nodes = torch.tensor(scores.indices[stored], device=device)
    position = torch.zeros(scores.shape[1], dtype=torch.int64, device=device)
    position[torch.tensor(used, device=device)] = torch.arange(len(used), device=device)
    instances = torch.arange(len(ends) - 1, device=device)
    instance = instances.repeat_interleave(ends.diff().to(device), output_size=len(values))
    reached = values >= threshold
    dense = torch.zeros((len(instances), len(used)), dtype=torch.float64, device=device)
    dense[instance[reached], position[nodes[reached]]] = values[reached]
    return dense


def _add_entropies(
    values: torch.Tensor, weighted: torch.Tensor, factors: int, entropy: torch.Tensor
) -> None:
    """As `audit.engine.scores.score_loops.add_entropies`, of all nodes."""
    import torch

    carried = values.T > 0
    instances = carried.nonzero()[:, 1]
    for node, carrying in enumerate(torch.split(instances, carried.sum(dim=1).tolist())):
        total = values[:, node + 1 :].index_select(0, carrying)
        total += values[carrying, node, None]
        quotient = weighted[:, node + 1 :].index_select(0, carrying)
        quotient += weighted[carrying, node, None]
        quotient /= total
        entropy[node, node + 1 :] += _log_of_product(total, factors) - quotient.sum(dim=0)


def _log_of_product(total: torch.Tensor, factors: int) -> torch.Tensor:
    """Sum of the logarithms down each column, as logarithms of products of some factors."""
    products, rest = divmod(len(total), factors)
    whole = total[rest:].view(products, factors, total.shape[1])
    return whole.prod(dim=1).log().sum(dim=0) + total[:rest].prod(dim=0).log()


def _lines(joint: torch.Tensor, entropy: torch.Tensor) -> list[Met]:
    joints, sums = joint.to("cpu").numpy(), entropy.to("cpu").numpy()
    return [
        met_of(node, joints[node, node + 1 :].astype(np.int64), sums[node, node + 1 :])
        for node in range(len(joints))
    ]
