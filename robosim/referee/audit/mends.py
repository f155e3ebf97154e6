"""Settings of simulators that are known to mend what an audit finds, from the mildest on.

They are what each simulator's manual recommends, and what was best in robosim's own comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Settings = Mapping[str, Any]
HARD = (0.9999, 0.9999, 0.001)
ELLIPTIC = {"cone": "elliptic", "impratio": 10.0}


def _mujoco(check: str, timestep: float) -> tuple[Settings, ...]:
    quick = (2.0 * timestep, 1.0)
    stiff = {"solref": quick}
    stiffer = {"solref": quick, "solimp": HARD}
    return {
        "penetration": (stiff, stiffer),
        "floating": ({"margin": 0.0},),
        "slip": (
            {"noslip_iterations": 10},
            ELLIPTIC,
            {**ELLIPTIC, "impratio": 100.0},
            {**ELLIPTIC, "impratio": 100.0, "noslip_iterations": 10, **stiffer},
        ),
        "loops": (
            {"eq_solref": quick},
            {"eq_solref": quick, "eq_solimp": HARD},
            {"integrator": "RK4", "eq_solref": quick, "eq_solimp": HARD},
        ),
        "limits": ({"limit_solref": quick}, {"limit_solref": quick, "limit_solimp": HARD}),
        "energy": (
            {"integrator": "implicitfast"},
            {"integrator": "RK4"},
            {"integrator": "RK4", "eq_solref": quick, "eq_solimp": HARD},
        ),
        "friction": (
            {"friction_solref": quick},
            {"friction_solref": quick, "friction_solimp": HARD},
        ),
        "rest": ({"integrator": "implicitfast"}, stiff, ELLIPTIC, {"noslip_iterations": 10}),
        "spikes": ({"integrator": "implicitfast"}, {"integrator": "RK4"}),
        "diverged": ({"integrator": "implicitfast"}, {"integrator": "RK4"}),
        "parting": (
            {"integrator": "RK4"},
            ELLIPTIC,
            {"noslip_iterations": 10},
            {**ELLIPTIC, "impratio": 100.0, "noslip_iterations": 10, **stiffer},
            {"eq_solref": quick},
        ),
    }.get(check, ())


def _best_mujoco(timestep: float) -> Settings:
    quick = (2.0 * timestep, 1.0)
    return {
        "integrator": "implicitfast",
        "cone": "elliptic",
        "impratio": 100.0,
        "noslip_iterations": 10,
        "solref": quick,
        "solimp": HARD,
        "eq_solref": quick,
        "eq_solimp": HARD,
        "limit_solref": quick,
        "limit_solimp": HARD,
        "friction_solref": quick,
        "friction_solimp": HARD,
    }


def _pybullet(check: str, timestep: float) -> tuple[Settings, ...]:
    harder: Settings = {"numSolverIterations": 500, "solverResidualThreshold": 0.0}
    return {
        "penetration": (harder, {**harder, "contactERP": 0.8}),
        "slip": (harder, {**harder, "frictionERP": 0.8}),
        "rest": (harder,),
        "limits": ({"erp": 0.8}, {**harder, "erp": 0.8}),
        "parting": (harder, {**harder, "contactERP": 0.8, "erp": 0.8}),
    }.get(check, ())


def _best_pybullet(timestep: float) -> Settings:
    return {
        "numSolverIterations": 500,
        "solverResidualThreshold": 0.0,
        "erp": 0.8,
        "contactERP": 0.8,
        "frictionERP": 0.8,
    }


def _drake(check: str, timestep: float) -> tuple[Settings, ...]:
    lagged: Settings = {"contact_approximation": "lagged"}
    tamsi: Settings = {"contact_approximation": "tamsi"}
    return {
        "penetration": ({"near_rigid_threshold": 0.1}, lagged, tamsi),
        "slip": (lagged, tamsi, {"near_rigid_threshold": 0.1}),
        "rest": (lagged,),
        "parting": (lagged, {"near_rigid_threshold": 0.1}),
        "diverged": (tamsi,),
    }.get(check, ())


def _best_drake(timestep: float) -> Settings:
    return {"contact_approximation": "lagged", "near_rigid_threshold": 0.1}


AHEAD = {"gap": 0.01}
"""Newton's contacts are found before they touch, not within the ground."""
TIGHT = {"tolerance": 1e-8, "max_iterations": 500}


def _newton(check: str, timestep: float) -> tuple[Settings, ...]:
    dvi: Settings = {"dynamics_solver": "dvi"}
    return {
        "penetration": (AHEAD, {**AHEAD, "gamma": 0.2}),
        "slip": (TIGHT, dvi),
        "rest": (AHEAD, TIGHT),
        "limits": ({"beta": 0.2},),
        "parting": (AHEAD, TIGHT, {**AHEAD, **TIGHT}),
        "diverged": (TIGHT, dvi),
    }.get(check, ())


def _best_newton(timestep: float) -> Settings:
    return {**AHEAD, **TIGHT, "beta": 0.2}


_MENDS = {"mujoco": _mujoco, "drake": _drake, "pybullet": _pybullet, "newton": _newton}
_BEST = {
    "mujoco": _best_mujoco,
    "drake": _best_drake,
    "pybullet": _best_pybullet,
    "newton": _best_newton,
}


def mends(peer: str, checks: Iterable[str], timestep: float) -> list[tuple[str, Settings]]:
    """(check, settings) to try at a time step [s], from the mildest on."""
    of = _MENDS.get(peer)
    if of is None:
        return []
    return [(check, settings) for check in checks for settings in of(check, timestep)]


def best(peer: str, timestep: float) -> Settings:
    """The best settings known at a time step [s]; empty if none are."""
    of = _BEST.get(peer)
    return {} if of is None else of(timestep)
