"""Built-in robots and mechanisms: model files, and builders in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from robosim.errors import LoadError

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism


class ModelInfo(NamedTuple):
    """A robot or mechanism that can be loaded by name."""

    name: str
    description: str
    origin: str


FILES: dict[str, ModelInfo] = {
    "a1": ModelInfo(
        "a1",
        "Unitree A1 quadruped, 12 joints, primitive geometry",
        "shipped, from the published figures",
    ),
}
# Each is a function of robosim.models.builders that can be called without arguments.
BUILT: dict[str, ModelInfo] = {
    name: ModelInfo(name, description, f"built by robosim.models.builders.{name}")
    for name, description in (
        ("pendulum", "one thin rod of 1 m and 1 kg on a hinge"),
        ("double_pendulum", "two thin rods of 1 m and 1 kg on hinges"),
        ("chain", "ten thin rods of 1 m and 1 kg on hinges"),
        ("three_link_loop", "three rods between two pivots, a closed loop"),
        ("rhombus", "four rods in a closed loop"),
        ("segments", "three rhombi of four rods below each other"),
        ("double_four_bar", "five rods in two parallelograms, a benchmark with singular poses"),
        ("slider_crank", "a crank that drives a slider"),
        ("scissor_lift", "a platform on three pairs of crossed bars, four closed loops"),
        ("sphere_chain", "ten balls on ball joints over the ground"),
        ("universal_chain", "five thin rods of 1 m and 1 kg on universal joints"),
        ("screw", "a nut that turns down an upright screw"),
        ("knee_spline", "a hanging leg of two rods, its knee a spline that rolls and slides"),
        ("arm_with_muscles", "an arm of two rods, a pair of muscles about each of its hinges"),
        ("drawer", "a drawer on a guide that rubs, and jams if it is pulled off the middle"),
        ("flywheel", "a disc on a level axle, which its bearing slows down"),
        ("hanging_net", "a net of particles hung up by its corners, a ball in its middle"),
        ("spinning_top", "a disc on a stem, its tip held by a ball joint"),
        ("atlas", "humanoid of 174 kg and 30 motors, after Atlas"),
        ("littledog", "quadruped of 2.7 kg with 12 motors, after LittleDog"),
        ("flamingo", "planar biped with springs at its ankles, after Spring Flamingo"),
        ("minitaur", "quadruped of 6 kg, each leg a closed loop driven by two motors"),
        ("exoskeleton", "an arm in an exoskeleton, cuffs on springs, two closed loops"),
        ("four_bar_knee", "a knee driven by a crank and a rod, a closed loop"),
        ("two_rod_ankle", "an ankle of pitch and roll, driven by two cranks with rods"),
        ("linear_leg", "a leg whose three linear motors close loops, like Kangaroo's"),
        ("spring_leg", "a planar leg with rods and springs, like Cassie's"),
        ("delta", "a delta robot, whose platform keeps its orientation"),
        ("stewart", "a platform on six linear motors"),
        ("cube", "a free cube of 0.5 m and 1 kg"),
        ("sphere", "a free ball of 0.25 m radius and 1 kg"),
        ("free_body", "a free rigid body with three different moments of inertia"),
    )
}


def shipped() -> tuple[ModelInfo, ...]:
    """All built-in robots and mechanisms, which can be loaded by name."""
    return (*FILES.values(), *BUILT.values())


def path(name: str) -> Path:
    """The model file of a built-in robot.

    Raises
    ------
    LoadError
        For an unknown name.
    """
    if name not in FILES:
        raise LoadError(f"no model file '{name}' ships", alternatives=tuple(FILES))
    return Path(__file__).parent / name / f"{name}.urdf"


def build(
    name: str, *, floating_base: bool | None = None, ground: bool = True, **options: Any
) -> Mechanism:
    """A built mechanism by its name.

    Parameters
    ----------
    name : str
        A key of ``BUILT``.
    floating_base : bool or None
        Whether the mechanism has a floating base; another value than the mechanism's is an error.
        None: any.
    ground : bool
        Whether to keep contact points with the ground.
    options
        Arguments of the builder; unknown ones are ignored.

    Raises
    ------
    LoadError
        For an unknown name, or a wrong `floating_base`.
    """
    # Here, as hulls for contact points take a while to import, and a model file does without.
    from dataclasses import replace
    from inspect import signature

    from robosim.models import builders

    if name not in BUILT:
        raise LoadError(f"no builder '{name}'", alternatives=tuple(BUILT))
    builder = getattr(builders, name)
    accepted = signature(builder).parameters
    mechanism: Mechanism = builder(
        **{key: value for key, value in options.items() if key in accepted}
    )
    if floating_base is not None and floating_base != mechanism.floating_base:
        kind = "floating" if mechanism.floating_base else "fixed"
        raise LoadError(
            f"its base is {kind}; floating_base={floating_base} does not apply",
            element=f"mechanism '{name}'",
        )
    return mechanism if ground else replace(mechanism, contacts=())
