"""Environments for Stable-Baselines3, which has its own vector environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as _VectorEnv
from numpy.typing import NDArray

from robosim.envs.vector import RobotVectorEnv
from robosim.errors import MissingExtraError, OptionError
from robosim.version import install

try:
    from stable_baselines3.common.vec_env import VecEnv as _VecEnv
except ImportError:
    raise MissingExtraError(
        f"this needs stable-baselines3; get it with: {install('sb3')}"
    ) from None


class VecEnv(_VecEnv):  # type: ignore[misc]
    """A `RobotVectorEnv` with the interface of Stable-Baselines3.

    When an episode ends, its info has ``episode`` (return and length), as the Monitor wrapper of
    Stable-Baselines3 writes it. The info also has ``reward_terms``, the sum of each term over the
    episode, and ``failed``.

    Parameters
    ----------
    envs : RobotVectorEnv
        Made directly or by `gymnasium.make_vec`, with ``autoreset_mode="SameStep"``.

    Raises
    ------
    OptionError
        For another type of environments, or another mode.
    """

    def __init__(self, envs: RobotVectorEnv | _VectorEnv[Any, Any, Any]) -> None:
        if not isinstance(envs, RobotVectorEnv):
            raise OptionError(f"envs must be a RobotVectorEnv without wrappers, not {envs!r}")
        if envs.autoreset_mode != AutoresetMode.SAME_STEP:
            raise OptionError(
                "Stable-Baselines3 needs a reset in the same step that ends an episode: make the "
                f"environments with autoreset_mode='SameStep', not '{envs.autoreset_mode.value}'"
            )
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions: Any = None
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=int)
        self._terms: dict[str, NDArray[np.float64]] = {}

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each environment; observations (n, no)."""
        seen, _ = self.envs.reset(seed=self._seeds)
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0.0, 0
        self._terms = {}
        return seen

    def step_async(self, actions: Any) -> None:
        """Store actions (n, na) for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Take the stored actions: observations (n, no), rewards (n,), ends (n,) and n infos."""
        seen, out, _, final = self.envs.advance(self._actions)
        over = out.terminated | out.truncated
        self._returns += out.reward
        self._lengths += 1
        for name, term in out.terms.items():
            self._terms[name] = self._terms.get(name, 0.0) + term
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i, last in zip(np.flatnonzero(over).tolist(), final, strict=True):
            infos[i] = {
                "terminal_observation": last,
                "TimeLimit.truncated": bool(out.truncated[i] and not out.terminated[i]),
                "episode": {"r": float(self._returns[i]), "l": int(self._lengths[i])},
                "reward_terms": {name: float(sums[i]) for name, sums in self._terms.items()},
                "failed": bool(out.failed[i]),
            }
        if len(final):
            for sums in (self._returns, self._lengths, *self._terms.values()):
                sums[over] = 0
        return seen, out.reward.astype(np.float32), over, infos

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the vector environment, repeated for each of the chosen ones."""
        return [getattr(self.envs, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment, which all environments share.

        Raises
        ------
        OptionError
            If not all environments are chosen.
        """
        if len(self._chosen(indices)) != self.num_envs:
            raise OptionError(f"environments share '{attr_name}': it is set for all or for none")
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment once; its result is repeated for each one."""
        found = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [found] * len(self._chosen(indices))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False for each: environments of a batch have no wrappers."""
        return [False] * len(self._chosen(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each environment, or None for each without render_mode="rgb_array"."""
        return self.envs.render() or [None] * self.num_envs

    def _chosen(self, indices: Any) -> list[int]:
        return list(self._get_indices(indices))
