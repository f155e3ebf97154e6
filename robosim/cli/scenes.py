"""The scenes of ``robosim demo``: each is made by the very line that its card tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robosim.cli.arguments import default_controller

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.formulation import Formulation

SHOWN = "viz.live(sim, control, viewer=viz.Viewer(robot, open_browser=True))"
STARTS = "sim = Simulation("  # the line with which a script starts to compile

HEAP = f"""\
import numpy as np
from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, Simulation, viz

rng, bodies, joints, home = np.random.default_rng(4), [], [], []
for k in range(12):
    size, colour = rng.uniform(0.12, 0.3, 3), (*rng.uniform(0.25, 0.85, 3), 1.0)
    box = Geometry("box", size, rgba=colour, friction=0.7)
    inertia = np.diag((size @ size - size**2) / 12)
    bodies.append(Body(f"box{{k}}", 1.0, inertia, visuals=(box,), collisions=(box,)))
    joints.append(Joint(f"free{{k}}", "floating", None, f"box{{k}}"))
    home += [0.32 * (k % 2), rng.uniform(-0.1, 0.1), 0.2 + 0.31 * (k // 2), 1, 0, 0, 0]
robot = Mechanism("heap", bodies, joints, home=home)
robot = robot.with_contacts(obstacles=[HalfSpace()], self_collision=True)
control = "zero"
{STARTS}robot, timestep=4e-3)
{SHOWN}
"""
GRASP = f"""\
import numpy as np
from robosim import Body, Geometry, Joint, Mechanism, Simulation, viz

palm = Body.box("palm", (0.04, 0.16, 0.03), mass=0.5)
rail = Joint("lift", "prismatic", None, "palm", axis=(0, 0, 1), parent_position=(0, 0, 0.12))
robot = Mechanism("grasp", (palm,), (rail,))
pad = Geometry("box", (0.03, 0.01, 0.08), name="pad", friction=0.7)
for side, y in ("left", 0.045), ("right", -0.045):
    slide = {{"kind": "prismatic", "axis": (0, -np.sign(y), 0)}}
    robot = robot.attach(pad, "palm", (0, y, -0.055), prefix=f"{{side}}/", mass=0.1, **slide)
cube = Geometry("box", (0.05, 0.05, 0.05), name="cube", friction=0.7, rgba=(0.85, 0.5, 0.2, 1))
robot = robot.add(cube, (0, 0, 0.025), mass=0.2)

def control(sim):
    height = 0.06 * (1 - np.cos(2 * max(sim.time - 0.5, 0)))
    lift = 9.0 + 2000 * (height - sim.q[0]) - 100 * sim.v[0]
    return lift, 20.0, 20.0

{STARTS}robot, timestep=2e-3)
{SHOWN}
"""


@dataclass(frozen=True)
class Scene:
    """A robot or mechanism, and what it does.

    Parameters
    ----------
    name : str
        Also the name of its picture.
    title, text : str
    model, controller : str
        A model's name, and that of a controller, "" for the model's usual one; none for `code`.
    code : str
        A script, which makes a `robot`, a `control` and a `sim`, and shows them.
    """

    name: str
    title: str
    text: str
    model: str = ""
    controller: str = ""
    code: str = ""

    @property
    def line(self) -> str:
        """What makes the same: a line for a shell, or a script."""
        controller = f" --controller {self.controller}" if self.controller else ""
        return self.code or f"robosim view {self.model}{controller} --open"

    def robot(self) -> tuple[Mechanism, dict[str, Any]]:
        """The robot, and what `start` takes; no kernel is compiled for this."""
        if self.model:
            from robosim.loaders import load

            return load(self.model), {}
        names: dict[str, Any] = {}
        exec(self.code.partition(STARTS)[0], names)
        return names["robot"], names

    def start(self, robot: Mechanism, names: dict[str, Any]) -> tuple[Formulation, Any]:
        """The simulation of the robot at its start, and its controller."""
        from robosim.simulation import Simulation

        if self.model:
            return Simulation(robot), self.controller or default_controller(robot)
        _, starts, rest = self.code.partition(STARTS)
        exec(starts + rest.partition(SHOWN)[0], names)
        return names["sim"], names["control"]


SCENES = (
    Scene("trot", "Trot", "hard contacts", "a1", "trot"),
    Scene("minitaur", "Closed legs", "two motors a loop", "minitaur"),
    Scene("grasp", "Grasp", "held by friction alone", code=GRASP),
    Scene("stewart", "Stewart platform", "six linear motors", "stewart", "stand"),
    Scene("segments", "Rhombi", "three closed loops", "segments"),
    Scene("heap", "Heap", "twelve boxes", code=HEAP),
    Scene("top", "Top", "keeps its energy", "spinning_top"),
    Scene("net", "Net", "particles and a ball", "hanging_net"),
)
