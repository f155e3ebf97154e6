"""Bodies whose collision geometries overlap where a robot starts, as neighbours do in model files.

They would push each other apart from the first step, so self-collision leaves them out.
"""

from __future__ import annotations

from dataclasses import replace

from robosim.description.mechanism import Mechanism

TOUCHING = 1e-6  # [m]: shapes that overlap by less only touch, as neighbours are drawn


def without_overlaps(robot: Mechanism) -> Mechanism:
    """The mechanism with pairs of bodies that overlap at home as `excluded_pairs`.

    A warning lists them. Pairs that `contact_pairs` asks for stay. The kernels that find them are
    compiled for that, some ten seconds in the first run.
    """
    asked = {frozenset(pair) for pair in robot.contact_pairs}
    found = [pair for pair in overlapping_pairs(robot) if frozenset(pair) not in asked]
    if not found:
        return robot
    listed = ", ".join(f"{a} - {b}" for a, b in found)
    return replace(
        robot,
        excluded_pairs=(*robot.excluded_pairs, *found),
        warnings=(*robot.warnings, f"self-collision leaves out what overlaps at home: {listed}"),
    )


def overlapping_pairs(robot: Mechanism) -> list[tuple[str, str]]:
    """Pairs of moving bodies whose collision geometries may touch, and overlap in the home pose."""
    # Here, so that loading a robot imports numba only where bodies may touch each other.
    from robosim.simulation import Simulation

    gaps = Simulation(robot).shape_gaps(TOUCHING)
    scene = robot.touching_shapes()
    found = {
        (robot.bodies[a].name, robot.bodies[b].name): None
        for ((a, _), (b, _)), gap in zip(scene, gaps, strict=True)
        if a is not None and b is not None and gap < -TOUCHING
    }
    return list(found)
