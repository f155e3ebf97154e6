"""Mechanisms built in Python, with sizes as arguments; `robosim.load` makes each by its name.

Every builder validates its arguments (`ModelError`) and gives a `home` that closes its loops. SI
units and radians. Planar mechanisms move in the plane y = 0, with hinges about y. A rod at the
angle phi points along (-sin phi, 0, -cos phi), straight down at zero.
"""

from robosim.models.builders.atlas import atlas
from robosim.models.builders.bearings import drawer, flywheel
from robosim.models.builders.chains import (
    CHAIN_JOINTS,
    chain,
    double_pendulum,
    pendulum,
    sphere_chain,
    universal_chain,
)
from robosim.models.builders.charted import knee_frame, knee_spline, screw
from robosim.models.builders.exoskeleton import exoskeleton, rehabilitation
from robosim.models.builders.flamingo import flamingo, flamingo_pose
from robosim.models.builders.legged import minitaur, minitaur_legs
from robosim.models.builders.linkages import (
    double_four_bar,
    double_four_bar_start,
    rhombus,
    segments,
    three_link_loop,
)
from robosim.models.builders.littledog import DOG_LEGS, littledog, littledog_leg
from robosim.models.builders.machines import scissor_lift, slider_crank
from robosim.models.builders.muscles import arm_with_muscles
from robosim.models.builders.nets import hanging_net
from robosim.models.builders.parallel import (
    delta,
    four_bar_knee,
    linear_leg,
    spring_leg,
    stewart,
    two_rod_ankle,
)
from robosim.models.builders.single_bodies import (
    cube,
    free_body,
    sphere,
    spinning_top,
    steady_precession,
)

__all__ = [
    "CHAIN_JOINTS",
    "DOG_LEGS",
    "arm_with_muscles",
    "atlas",
    "chain",
    "cube",
    "delta",
    "double_four_bar",
    "double_four_bar_start",
    "double_pendulum",
    "drawer",
    "exoskeleton",
    "flamingo",
    "flamingo_pose",
    "flywheel",
    "four_bar_knee",
    "free_body",
    "hanging_net",
    "knee_frame",
    "knee_spline",
    "linear_leg",
    "littledog",
    "littledog_leg",
    "minitaur",
    "minitaur_legs",
    "pendulum",
    "rehabilitation",
    "rhombus",
    "scissor_lift",
    "screw",
    "segments",
    "slider_crank",
    "sphere",
    "sphere_chain",
    "spinning_top",
    "spring_leg",
    "steady_precession",
    "stewart",
    "three_link_loop",
    "two_rod_ankle",
    "universal_chain",
]
