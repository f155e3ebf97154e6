"""Arguments of a batch, checked: robots, indices of states, and values for states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.compiled.arrays import LINE, WORD, aligned
from robosim.compiled.model import Model
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, StateError
from robosim.runtime.lanes import are_alike
from robosim.simulation import Simulation
from robosim.simulation.worlds import Worlds
from robosim.validation import count

Index = int | Sequence[int] | NDArray[Any] | None


def rows_of(name: str, value: ArrayLike | None, width: int, n: int) -> Sequence[Any]:
    """A row (width,) for each of n states, from (width,) or (n, width); None for each if None."""
    if value is None:
        return [None] * n
    array = np.asarray(value, dtype=float)
    if array.shape not in ((width,), (n, width)):
        raise StateError(f"{name} must have shape ({width},) or ({n}, {width}), not {array.shape}")
    return [array] * n if array.ndim == 1 else list(array)


def chosen_states(index: Index, n: int) -> list[int]:
    """Indices of the chosen states among n."""
    if index is None:
        return list(range(n))
    numbers = np.atleast_1d(np.asarray(index))
    if numbers.dtype == bool:
        if numbers.shape != (n,):
            raise StateError(f"a mask of states must have shape ({n},), not {numbers.shape}")
        return np.flatnonzero(numbers).tolist()
    for i in numbers.tolist():
        if not (isinstance(i, int) and -n <= i < n):
            raise StateError(f"there is no state {i!r} among {n}")
    return [i % n for i in numbers.tolist()]


def apart(n: int, like: NDArray[Any]) -> NDArray[Any]:
    """Memory (n, *like.shape), in which rows share no cache lines."""
    width = -(-like.nbytes // (WORD * LINE)) * LINE
    memory = aligned(n * width, np.dtype(np.float64))
    return np.ndarray((n, *like.shape), like.dtype, memory, 0, (WORD * width, *like.strides))


def robots_of(robot: Mechanism | Sequence[Mechanism], n: int | None) -> list[Mechanism]:
    """One robot for each state."""
    if isinstance(robot, Mechanism):
        return [robot] * (1 if n is None else count("n", n))
    if not (isinstance(robot, Sequence) and all(isinstance(one, Mechanism) for one in robot)):
        raise OptionError(f"robot must be a Mechanism or a sequence of them, not {robot!r}")
    if len(robot) == 0:
        raise OptionError("a batch needs a robot at least")
    return list(robot)


def is_apart(sim: Simulation) -> bool:
    """Whether a simulation solves the units of a world apart."""
    return isinstance(cast(Any, sim.engine), Worlds)


def check_structure(sim: Simulation, before: Simulation, index: int) -> None:
    """Raise an OptionError if robot `index` differs from another one in more than numbers."""
    names = [(joint.name, joint.kind) for joint in sim.robot.joints]
    same = names == [(joint.name, joint.kind) for joint in before.robot.joints]
    sizes = [[a.shape for a in one.parts.state] for one in (sim, before)]
    kinds = [one.engine.kinds for one in (sim, before)]
    if not (same and sizes[0] == sizes[1] and kinds[0] == kinds[1]):
        raise OptionError(
            f"robot {index} ('{sim.robot.name}') is built differently from robot 0 "
            f"('{before.robot.name}'): robots of a batch may differ in numbers only"
        )


def model_of(robot: Mechanism, sim: Simulation, index: int) -> Model:
    """The model of another robot for state `index`, which is built as that of its simulation."""
    if isinstance(robot, Mechanism):
        names = [[(one.name, one.kind) for one in r.joints] for r in (robot, sim.robot)]
        bodies = [[body.name for body in r.bodies] for r in (robot, sim.robot)]
        # Models of worlds have no pairs of shapes, which are those of islands.
        pairs = [is_apart(sim) and len(r.touching_shapes()) for r in (robot, sim.robot)]
        if names[0] == names[1] and bodies[0] == bodies[1] and pairs[0] == pairs[1]:
            model = sim.engine.model_of(robot)
            if are_alike(model, sim.engine.model_at_home):
                return model
    raise OptionError(
        f"the robot for state {index} is not a Mechanism built like '{sim.robot.name}': "
        "robots of a batch may differ in numbers only"
    )
