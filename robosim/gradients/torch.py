"""Rollouts as functions of PyTorch's tensors, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.errors import MissingExtraError, OptionError
from robosim.gradients.horizon import Horizon
from robosim.version import install

try:
    import torch
except ImportError:
    raise MissingExtraError(
        f"gradients of tensors take PyTorch; get it with: {install('torch')}"
    ) from None


def rollout(horizon: Horizon, **inputs: Any) -> tuple[Any, Any]:
    """Coordinates (n, steps + 1, nq) and velocities (n, steps + 1, nv) at all knots.

    The backward pass issues a warning once if contacts or substeps make the rollout not smooth.

    Parameters
    ----------
    horizon : Horizon
    **inputs : tensors of double precision on the CPU
        See `Horizon`.

    Raises
    ------
    OptionError
        For tensors of another kind, and as `Horizon.run` and `TapedRollout.vjp` do.
    ConvergenceError
        If a step cannot be solved.
    """
    for name, value in inputs.items():
        if not (torch.is_tensor(value) and value.dtype == torch.float64 and not value.is_cuda):
            what = f"{value.dtype} on {value.device}" if torch.is_tensor(value) else type(value)
            raise OptionError(f"{name} must be a tensor of torch.float64 on the CPU, not {what}")
    names = tuple(inputs)
    q, v = _Rollout.apply(horizon, names, *inputs.values())
    return q, v


class _Rollout(torch.autograd.Function):
    """A rollout with its backward pass."""

    @staticmethod
    def forward(ctx: Any, horizon: Horizon, names: tuple[str, ...], *values: Any) -> Any:
        arrays = [value.detach().numpy().copy() for value in values]
        run = horizon.run(dict(zip(names, arrays, strict=True)))
        ctx.horizon, ctx.names, ctx.arrays, ctx.run = horizon, names, arrays, run
        return torch.from_numpy(run.q.copy()), torch.from_numpy(run.v.copy())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dq: Any, dv: Any) -> Any:
        inputs = dict(zip(ctx.names, ctx.arrays, strict=True))
        found = ctx.horizon.back(ctx.run, inputs, np.asarray(dq.detach()), np.asarray(dv.detach()))
        return None, None, *(torch.from_numpy(found[name]) for name in ctx.names)
