"""An elastic cube on a rope: particles with springs between them, and tetrahedra.

The mechanism makes bodies of all particles, so that a simulation knows nothing new of a rope. The
cube's shape is that of an energy; from files of meshers `robosim.loaders.soft` reads such solids.

    python examples/27_soft_parts.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.viz import Recorder

# Five tetrahedra: one in the middle, and one at every second corner.
CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
TETRAHEDRA = ((0, 4, 2, 1), (6, 2, 4, 7), (5, 1, 7, 4), (3, 1, 2, 7), (1, 4, 2, 7))
EDGE, HEIGHT, SECONDS = 0.2, 1.5, 1.5  # [m], [m], [s]


def hung_up() -> robosim.Mechanism:
    """A rope from the world out to the side, and the cube at its end."""
    cube = robosim.Soft(
        "cube", EDGE * CORNERS + (0.6, 0.0, HEIGHT - EDGE), TETRAHEDRA, 2e4, 0.35, density=100.0
    )
    points = np.linspace((0.0, 0.0, HEIGHT), (0.6, 0.0, HEIGHT), 9)
    # The last node of the rope is a corner of the cube, which is a particle as well.
    rope = robosim.Strand("rope", points, 20.0, mass=0.1, attached={0: None, -1: "cube_1"})
    return robosim.Mechanism("cube on a rope", (), (), soft=(cube, rope))


def main(out: Path) -> None:
    robot = hung_up()
    (mesh,) = robot.soft_meshes
    print(f"{len(robot.bodies)} particles of {robot.total_mass:.3f} kg, ", end="")
    print(f"{len(robot.springs)} springs")
    sim = robosim.Simulation(robot, timestep=2e-3)
    recorder, energies, strained = Recorder(robot), [sim.energy()], [0.0]
    corners = [robot.body_index(f"cube_{k}") for k in range(8)]
    for _ in range(round(SECONDS / sim.timestep)):
        sim.step()
        energies.append(sim.energy())
        strained.append(mesh.energy(sim.state.x[corners]))
        recorder.add(sim.time, sim.state.x, sim.state.q)
    lost = np.abs(np.array(energies) - energies[0]).max()
    print(f"the cube takes up to {1e3 * max(strained):.0f} mJ of strain")
    fallen = robot.total_mass * 9.81 * 0.6
    print(f"the energy stays within {lost / fallen:.2%} of what the fall is worth")
    print(f"recording: {recorder.save(out / 'cube.html')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
