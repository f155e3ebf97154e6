"""Contacts of a file as springs: `solref` and `solimp`, for the load that a robot rests with.

In MuJoCo a contact at rest has the penetration r where [MuJoCo, Computation, Constraint model]

    F R = k d(r) r,    R = (1 - d) / d * A,    k = 1 / (dmax timeconst dampratio)^2,

with the impedance d(r) of `solimp` and the inverse mass A that both bodies have at qpos0. A
pyramidal cone has such an equation for each of its edges. So the spring of a contact is not linear.
Here it is linear, and has the same penetration under the load that its robot rests with at home.
Inverse masses of two bodies add up, and so do those of two springs in series.

The dissipation leads to the damping ratio of the file for small motions around that rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.loaders.loads import resting_loads
from robosim.loaders.mjcf.friction import Friction
from robosim.loaders.mjcf.nodes import Node

Array = NDArray[np.float64]

_SOLREF = (0.02, 1.0)
_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
_LEAST_FRICTION = 1e-5  # as in MuJoCo
CONSTANT = 0.9
"""Impedance that does not depend on the depth, of geoms that are written."""
_LIGHT = 1e-3  # [m/s^2 or rad/s^2], of loads that are next to nothing
_DEEP = 1e3  # [m or rad], where every impedance is the largest
_LEAST, _MOST = 1e-4, 0.9999  # what MuJoCo keeps impedances between


@dataclass(frozen=True)
class Impedance:
    """`solref` and `solimp` of a geom or a pair.

    Attributes
    ----------
    solref : (2,), time constant [s] and damping ratio, or both negative stiffness and damping
    solimp : (5,), dmin, dmax, width [m], midpoint and power
    mix : float
        Weight beside another one.
    """

    solref: tuple[float, ...]
    solimp: tuple[float, ...]
    mix: float = 1.0

    @classmethod
    def read(cls, node: Node, of: str = "") -> Impedance:
        """The impedance of an element, with MuJoCo's defaults; of="limit": that of its limit."""
        solref = node.some_numbers(f"solref{of}", _SOLREF, fill=True).tolist()
        if solref[0] == 0 or solref[1] == 0 or (solref[0] > 0) != (solref[1] > 0):
            raise node.error(
                f"'solref{of}' must be two positive or two negative numbers, not {solref}"
            )
        solimp = node.some_numbers(f"solimp{of}", _SOLIMP, fill=True).tolist()
        if not (solimp[2] >= 0 and 0 < solimp[3] < 1 and solimp[4] >= 1):
            raise node.error(
                f"'solimp{of}' must have a width that is not negative, a midpoint between 0 and 1, "
                f"and a power of 1 or more, not {solimp}"
            )
        mix = node.number("solmix", 1.0)
        if mix < 0:
            raise node.error(f"'solmix' must not be negative, not {mix}")
        return cls(tuple(solref), tuple(solimp), mix)

    def beside(self, other: Impedance) -> Impedance:
        """The impedance of the contact of two geoms of the same priority."""
        total = self.mix + other.mix
        part = self.mix / total if total > 0 else 0.5
        mean = [part * a + (1 - part) * b for a, b in zip(self.solimp, other.solimp, strict=True)]
        if self.solref[0] > 0 and other.solref[0] > 0:
            pairs = zip(self.solref, other.solref, strict=True)
            solref = [part * a + (1 - part) * b for a, b in pairs]
        else:
            solref = list(map(min, zip(self.solref, other.solref, strict=True)))
        return Impedance(tuple(solref), tuple(mean))

    def at(self, depth: float) -> float:
        """The impedance at a depth [m], between 0 and 1."""
        least, most, width, middle, power = self.solimp
        least, most = (min(max(d, _LEAST), _MOST) for d in (least, most))
        if least == most or width < 1e-15:
            return 0.5 * (least + most)
        x = min(depth / width, 1.0)
        if x <= middle:
            y = x**power / middle ** (power - 1)
        else:
            y = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
        return least + y * (most - least)

    def direct(self, k: float, depth: float) -> float:
        """Stiffness times inverse mass [1/s^2] at a depth, by the k of `reference`."""
        d = self.at(depth)
        return k * d * d / (1 - d)

    def reference(self, timestep: float) -> tuple[float, float]:
        """(k over impedance [1/s^2], damping ratio) of the reference acceleration."""
        most = min(max(self.solimp[1], _LEAST), _MOST)
        if self.solref[0] < 0:
            stiffness, damping = -self.solref[0], -self.solref[1]
            return stiffness / most**2, 0.5 * damping / sqrt(stiffness)
        time = max(self.solref[0], 2.0 * timestep)
        return 1.0 / (most * time * self.solref[1]) ** 2, self.solref[1]


@dataclass(frozen=True)
class Solver:
    """What <option> says about contacts.

    Attributes
    ----------
    timestep : float [s]
        0 where time constants may be shorter than two steps.
    pyramidal : bool
    impratio : float
    """

    timestep: float
    pyramidal: bool
    impratio: float

    @classmethod
    def read(cls, root: Node) -> Solver:
        """The solver of a model."""
        option, flags = {}, {}  # type: dict[str, str], dict[str, str]
        first = root
        for node in root.all("option"):
            first = node
            option |= node.attributes
            for flag in node.all("flag"):
                flags |= flag.attributes
        node = Node("option", option, (), first.file, first.line)
        safe = flags.get("refsafe", "enable").strip() == "enable"
        cone = node.choice("cone", ("pyramidal", "elliptic"), "pyramidal")
        timestep = node.number("timestep", 0.002) if safe else 0.0
        return cls(timestep, cone == "pyramidal", node.number("impratio", 1.0))

    def spring(
        self,
        impedance: Impedance,
        friction: Friction,
        condim: int,
        inverse_mass: float,
        load: float,
    ) -> tuple[float, float]:
        """(stiffness [N/m], dissipation [s/m]) with the penetration at rest under a load [N].

        Parameters
        ----------
        impedance : Impedance
        friction : Friction
        condim : int
        inverse_mass : float [1/kg]
        load : float [N], for one contact
        """
        k, ratio = impedance.reference(self.timestep)
        edges = 1.0
        if self.pyramidal and condim > 1:
            mu = max(friction.sliding, _LEAST_FRICTION)
            edges = (condim - 1) * self.impratio / (mu**2 * (1 + mu**2))

        found = _under(load, lambda depth: edges * impedance.direct(k, depth) / inverse_mass)
        return found, 2 * ratio * sqrt(found / inverse_mass) / load

    def limit(self, impedance: Impedance, inverse_mass: float, load: float) -> tuple[float, float]:
        """(stiffness, damping) of a limit, with the deflection at rest under a load.

        Parameters
        ----------
        impedance : Impedance
        inverse_mass : float [1/kg or 1/(kg m^2)]
            Of its coordinate.
        load : float [N or N m]
            Where it is next to nothing, the stiffness is that far behind the limit.
        """
        k, ratio = impedance.reference(self.timestep)
        if load * inverse_mass < _LIGHT:
            found = impedance.direct(k, _DEEP) / inverse_mass
        else:
            found = _under(load, lambda depth: impedance.direct(k, depth) / inverse_mass)
        return found, 2 * ratio * sqrt(found / inverse_mass)


def _under(load: float, stiffness: Callable[[float], float]) -> float:
    """The stiffness at the depth at which a spring carries a load."""
    low, high = 0.0, 1.0
    while stiffness(high) * high < load:
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stiffness(middle) * middle < load else (low, middle)
    return load / high


def as_solref(
    stiffness: float, dissipation: float, mu: float, inverse_mass: float, load: float
) -> tuple[float, float]:
    """The `solref` that reads as a spring, with an impedance of `CONSTANT` and condim 3.

    The inverse of `Solver.spring` for default options.
    """
    mu = max(mu, _LEAST_FRICTION)
    edges = 2.0 / (mu**2 * (1 + mu**2))
    direct = stiffness * (1 - CONSTANT) * inverse_mass / edges
    ratio = 0.5 * dissipation * load * sqrt(inverse_mass / stiffness)
    return -direct, -max(2 * ratio * sqrt(direct), 1e-9)


def limit_as_solref(stiffness: float, damping: float, inverse_mass: float) -> tuple[float, float]:
    """The `solreflimit` that reads as a spring of a limit, with an impedance of `CONSTANT`."""
    direct = stiffness * (1 - CONSTANT) * inverse_mass
    ratio = 0.5 * damping * sqrt(inverse_mass / stiffness)
    return -direct, -max(2 * ratio * sqrt(direct), 1e-9)


@dataclass(frozen=True)
class Rest:
    """How the bodies of a mechanism answer and are loaded.

    Attributes
    ----------
    inverse_mass : mapping of body to float [1/kg]
        Mean of the three directions at the reference pose, of what hangs together there.
    load : mapping of body to float [N]
        Force of one contact, if the robot rests on its lowest ones at home.
    """

    inverse_mass: Mapping[str, float]
    load: Mapping[str, float]

    @classmethod
    def of(cls, mechanism: Mechanism, reference: Array, robots: Mapping[str, int]) -> Rest:
        """The answers at a reference pose (nq,), of bodies that belong to some robots."""
        # Imported here, so that numba is imported only when needed.
        from robosim.kinematics.kinematics import Kinematics

        at = Kinematics(mechanism, reference)
        softness = np.linalg.inv(at.mass_matrix())
        rows = at.jacobian()[:, :3]
        inverse = np.einsum("bik,kl,bil->b", rows, softness, rows) / 3
        names = [body.name for body in mechanism.bodies]
        masses = dict(zip(names, inverse.tolist(), strict=True))
        return cls(masses, resting_loads(mechanism, robots))
