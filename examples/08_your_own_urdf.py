"""Your own URDF: written to a file, loaded, simulated, its joints read from the log.

python examples/08_your_own_urdf.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import robosim

URDF = """<?xml version="1.0"?>
<robot name="crane">
  <link name="world"/>
  <joint name="slew" type="continuous">
    <parent link="world"/> <child link="tower"/> <axis xyz="0 0 1"/>
  </joint>
  <link name="tower"><inertial><origin xyz="0 0 1"/><mass value="20"/>
    <inertia ixx="7" iyy="7" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="boom" type="prismatic">
    <parent link="tower"/> <child link="trolley"/> <origin xyz="0.5 0 2"/> <axis xyz="1 0 0"/>
    <limit lower="0" upper="2" effort="200" velocity="1"/>
  </joint>
  <link name="trolley"><inertial><mass value="3"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="swing" type="continuous">
    <parent link="trolley"/> <child link="load"/> <axis xyz="0 1 0"/>
  </joint>
  <link name="load"><inertial><origin xyz="0 0 -1"/><mass value="5"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


def drive(sim: robosim.Simulation) -> list[float]:
    """Push the trolley out to 1 m and hold it; let the load swing, and the tower turn freely."""
    position, rate = sim.q[sim.robot.q_names.index("boom")], sim.v[1]
    return [0.0, 60.0 * (1.0 - position) - 40.0 * rate, 0.0]


def main(out: Path) -> None:
    path = out / "crane.urdf"
    path.write_text(URDF)
    robot = robosim.load(path)
    for warning in robot.warnings:
        print(f"warning: {warning}")
    sim = robosim.Simulation(robot, timestep=2e-3)
    log = sim.run(6.0, controller=drive)
    log.save(out / "crane.csv")
    swing = log.column("swing.position")
    print(f"columns: {', '.join(log.names)}")
    print(f"boom ends at {log.column('boom.position')[-1]:.3f} m")
    print(f"the load swings between {swing.min():+.3f} and {swing.max():+.3f} rad")
    print(f"log: {out / 'crane.csv'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
