"""A capsule creeps out of a grip in MuJoCo: whose fault is it, and what mends it?

The grip is that of https://github.com/google-deepmind/mujoco/issues/3328, in short: two pads press
on a capsule, with far more friction than its weight needs.

python examples/32_audit_a_grasp.py [FOLDER] [--seconds T]
"""

import argparse
import tempfile
from pathlib import Path

from robosim.referee.audit import audit

GRIP = """
<mujoco model="grip">
  <option timestep="0.002" cone="elliptic" impratio="10"/>
  <default><geom friction="0.7 0.005 0.0001" solref="0.004 1"/></default>
  <worldbody>
    <body name="left" pos="-.01 0 .1"><joint name="l" type="slide" axis="1 0 0" damping="50"/>
      <geom type="box" size=".006 .02 .02" mass=".1"/></body>
    <body name="right" pos=".01 0 .1"><joint name="r" type="slide" axis="-1 0 0" damping="50"/>
      <geom type="box" size=".006 .02 .02" mass=".1"/></body>
    <body name="capsule" pos="0 0 .1"><freejoint/>
      <geom type="capsule" size=".004 .01" euler="90 0 0" mass=".045"/></body>
  </worldbody>
  <actuator><motor name="pull" joint="l"/><motor name="push" joint="r"/></actuator>
</mujoco>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to write the model and page")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    file = folder / "grip.xml"
    file.write_text(GRIP)
    found = audit(file, seconds=options.seconds, controls=[12.0, 12.0], peers=["mujoco"])
    for finding in found.findings:
        print(finding.said)
        if finding.mend:
            print(f"  {finding.mend}")
    page = folder / "audit.html"
    page.write_text(found.page(), encoding="utf-8")
    print(f"page: {page}")


if __name__ == "__main__":
    main()
