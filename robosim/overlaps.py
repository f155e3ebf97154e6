"""Bodies whose collision geometries overlap at home, as neighbours do in model files.

Overlapping bodies would push each other apart from the first step, so such pairs are excluded. So
are obstacles that overlap a body with a chain of joints to the world, which might be unable to
leave them.
"""

from __future__ import annotations

from dataclasses import replace

from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.description.rigid import floating_bases
from robosim.description.touching import LEFT_OUT
from robosim.errors import ModelError, StateError

TOUCHING = 1e-6  # [m]: shapes that overlap by less only touch, as neighbours are drawn


def without_overlaps(robot: Mechanism) -> Mechanism:
    """The mechanism with pairs that overlap at home as `excluded_pairs`.

    The pairs are those of bodies, and of an obstacle and a body without a free joint in its chain
    to the world. A warning lists them. Pairs in `contact_pairs` are kept. The first call compiles
    kernels for some ten seconds. If no simulation can start at home, for example as a loop does
    not close, the mechanism is unchanged but for a warning.
    """
    asked = {frozenset(pair) for pair in robot.contact_pairs}
    try:
        found = [pair for pair in overlapping_pairs(robot) if frozenset(pair) not in asked]
    except (ModelError, StateError) as error:
        told = f"contacts may overlap at home, where no simulation can start: {error}"
        return replace(robot, warnings=(*robot.warnings, told))
    if not found:
        return robot
    listed = ", ".join(f"{a} - {b}" for a, b in found)
    return replace(
        robot,
        excluded_pairs=(*robot.excluded_pairs, *found),
        warnings=(*robot.warnings, f"{LEFT_OUT}: {listed}"),
    )


def overlapping_pairs(robot: Mechanism) -> list[tuple[str, str]]:
    """Pairs whose collision geometries may touch, and overlap in the home pose.

    An obstacle that shares its name with others is in no pair, as the pair would name them all.
    """
    # Here, so that loading a robot imports numba only where bodies may touch each other.
    from robosim.simulation import Simulation

    gaps = Simulation(robot, islands=False).shape_gaps(TOUCHING)
    scene = robot.touching_shapes()
    names = [obstacle_name(obstacle) for obstacle in robot.obstacles]
    free = floating_bases(robot.tree_joints)
    found: dict[tuple[str, str], None] = {}
    for ((a, shape), (b, _)), gap in zip(scene, gaps, strict=True):
        assert b is not None
        if gap >= -TOUCHING:
            continue
        body = robot.bodies[b].name
        if a is not None:
            found[robot.bodies[a].name, body] = None
        elif body not in free and names.count(obstacle_name(shape)) == 1:
            found[obstacle_name(shape), body] = None
    return list(found)


def ties_beside_obstacles(robot: Mechanism) -> bool:
    """Whether a body that joints tie to the world may touch an obstacle."""
    if not robot.obstacles:
        return False
    free, rigid = floating_bases(robot.tree_joints), robot.rigid_groups
    return any(
        body.collisions and rigid[body.name] is not None and body.name not in free
        for body in robot.bodies
    )
