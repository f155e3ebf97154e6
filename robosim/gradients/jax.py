"""Rollouts as functions of JAX's arrays, in double precision, inside of `jit` as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robosim.errors import MissingExtraError, OptionError
from robosim.gradients.horizon import Horizon
from robosim.version import install

try:
    import jax
except ImportError:
    raise MissingExtraError(
        f"gradients of JAX arrays take JAX; get it with: {install('jax')}"
    ) from None


def rollout(horizon: Horizon) -> Callable[[dict[str, Any]], tuple[Any, Any]]:
    """A function of inputs by name (see `Horizon`) to q and v at all knots, with its gradient.

    The backward pass repeats the rollout, because a function that JAX calls cannot keep data.

    Raises
    ------
    OptionError
        If JAX computes in single precision.
    """
    if not jax.config.jax_enable_x64:
        raise OptionError(
            "gradients take double precision: jax.config.update('jax_enable_x64', True), before "
            "any array is made"
        )
    shapes = tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in horizon.shapes)

    def forward(inputs: dict[str, Any]) -> tuple[Any, Any]:
        run = horizon.run(_arrays(inputs))
        return run.q, run.v

    def backward(inputs: dict[str, Any], dq: Any, dv: Any) -> dict[str, Any]:
        arrays = _arrays(inputs)
        return horizon.back(horizon.run(arrays), arrays, np.asarray(dq), np.asarray(dv))

    @jax.custom_vjp
    def take(inputs: dict[str, Any]) -> tuple[Any, Any]:
        return jax.pure_callback(forward, shapes, inputs, vmap_method="sequential")  # type: ignore[no-any-return]

    def ahead(inputs: dict[str, Any]) -> Any:
        return take(inputs), inputs

    def back(inputs: dict[str, Any], adjoints: Any) -> Any:
        like = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, np.float64), inputs)
        found = jax.pure_callback(backward, like, inputs, *adjoints, vmap_method="sequential")
        return (found,)

    take.defvjp(ahead, back)
    return take  # type: ignore[no-any-return]


def _arrays(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value, dtype=np.float64) for name, value in inputs.items()}
