"""Checks of time steps: the longest one that explicit motors, springs and contacts take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim.description.actuator import Actuator
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding
from robosim.validation import Array

USUAL = 2e-3  # [s], MuJoCo's default
NARROW = 1.5  # factor to the longest stable step that is told as a note
SHORTEST, LONGEST = 1e-7, 1.0  # [s]
IMPLICIT = ("implicit", "implicitfast")  # integrators of MuJoCo that take kv implicitly


def timestep_of(case: Case) -> float:
    """The time step of an MJCF file [s], or MuJoCo's default; the last <option> counts."""
    for option in reversed(case.document.all("option")):
        if (numbers := option.numbers("timestep")) and numbers[0] > 0:
            return numbers[0]
    return USUAL


def _integrator(case: Case) -> str:
    """The integrator of an MJCF file, or MuJoCo's default."""
    given = [option.node.get("integrator") for option in case.document.all("option")]
    return next((name for name in reversed(given) if name is not None), "Euler")


def motors(case: Case) -> Iterator[Finding]:
    """Motors with gains, and springs of joints, that are unstable at the file's time step."""
    gains = _gains(case)
    if gains is None or case.mobility is None:
        return
    stiffness, damping, owners = gains
    implicit = _damping(case)
    kv = _integrator(case) in IMPLICIT
    if kv:
        implicit = implicit + damping

    def longest_of(k: Array, d: Array) -> float:
        assert case.mobility is not None
        return _longest(case.mobility, k, np.zeros_like(d) if kv else d, implicit)

    longest = longest_of(stiffness, damping)
    step = timestep_of(case)
    if longest > NARROW * step or (case.document.kind != "mjcf" and longest > USUAL):
        return
    worst = min(owners, key=lambda name: longest_of(*owners[name]))
    place = case.document.named(worst.partition(" '")[2].removesuffix("'"))
    given = case.document.kind == "mjcf"
    yield Finding(
        "timestep",
        "warning" if longest < step else "note",
        worst,
        f"with forces from the beginning of each step, steps longer than {1e3 * longest:.3g} ms "
        f"diverge; {'the file has' if given else 'a usual one is of'} {1e3 * step:.3g} ms",
        f"a time step of {0.5 * longest:.2g} s, armature, or lower gains"
        + ("" if kv else "; in MuJoCo integrator='implicitfast' for kv"),
        EFFECTS["timestep"],
        step / longest,
        "",
        place.file,
        place.line,
    )


def _gains(case: Case) -> tuple[Array, Array, dict[str, tuple[Array, Array]]] | None:
    """Stiffness and damping (nv, nv) of actuators and joints, and of each of them alone."""
    robot = case.model
    n = robot.nv
    index = {name: k for k, name in enumerate(robot.v_names)}
    owners: dict[str, tuple[Array, Array]] = {}
    for actuator in robot.actuators:
        if actuator.muscle is not None or actuator.place is not None:
            continue
        row = np.zeros(n)
        for name, gear in actuator.gears.items():
            if name not in index or isinstance(gear, tuple):
                break
            row[index[name]] = gear
        else:
            owners |= _of_actuator(actuator, row)
    for position, (_, joint, number) in enumerate(case.coordinates()):
        if joint.has_quaternion or joint.kind == "floating":
            continue
        k = float(joint.per_coordinate("stiffness")[number])
        if k > 0:
            own = np.zeros((n, n))
            own[position, position] = k
            owners[f"joint '{joint.name}'"] = (own, np.zeros((n, n)))
    if not owners:
        return None
    stiffness = np.sum([k for k, _ in owners.values()], axis=0)
    damping = np.sum([d for _, d in owners.values()], axis=0)
    return stiffness, damping, owners


def _of_actuator(actuator: Actuator, row: Array) -> dict[str, tuple[Array, Array]]:
    """Stiffness and damping of an actuator with gears (nv,), if it has any."""
    if actuator.motor is not None:
        k, d = actuator.motor.slopes
    else:
        k, d = max(-actuator.bias[1], 0.0), max(-actuator.bias[2], 0.0)
    if k == d == 0:
        return {}
    square = np.outer(row, row)
    return {f"actuator '{actuator.name}'": (k * square, d * square)}


def _damping(case: Case) -> Array:
    """Damping of joints (nv, nv), which integrators take implicitly."""
    values = np.zeros(case.model.nv)
    for position, (_, joint, number) in enumerate(case.coordinates()):
        values[position] = joint.per_coordinate("damping")[number]
    return np.diag(values)


def _longest(mobility: Array, stiffness: Array, damping: Array, implicit: Array) -> float:
    """The longest stable step [s] of v' = v - h W (K q + D v + C v'), q' = q + h v'.

    W is the mobility, K the stiffness, D the explicit and C the implicit damping, all (nv, nv).
    """
    n = len(mobility)
    a, b, c = mobility @ stiffness, mobility @ damping, mobility @ implicit
    eye = np.eye(n)

    def stable(h: float) -> bool:
        v = np.linalg.solve(eye + h * c, np.hstack((-h * a, eye - h * b)))
        q = np.hstack((eye, np.zeros((n, n)))) + h * v
        return bool(np.abs(np.linalg.eigvals(np.vstack((q, v)))).max() <= 1 + 1e-9)

    low, high = SHORTEST, LONGEST
    if stable(high):
        return np.inf
    while high / low > 1.001:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def contacts(case: Case) -> Iterator[Finding]:
    """Time constants of contacts and limits of an MJCF that are below two time steps."""
    step = timestep_of(case)
    if case.document.kind != "mjcf":
        return
    for element in case.document:
        for attribute in ("solref", "solreflimit", "solreffriction"):
            numbers = element.numbers(attribute)
            if numbers is None or not 0 < numbers[0] < 2 * step:
                continue
            name = f"{element.tag} '{element.name}'" if element.name else f"<{element.tag}>"
            yield Finding(
                "solref",
                "note",
                name,
                f"its {attribute} has a time constant of {1e3 * numbers[0]:.3g} ms, shorter than "
                f"two time steps of {1e3 * step:.3g} ms",
                f"timestep='{numbers[0] / 2:.2g}', or a time constant of {2 * step:.2g}",
                EFFECTS["solref"],
                2 * step / numbers[0],
                "",
                *element.place,
            )
