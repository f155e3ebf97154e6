"""The same robot in Pinocchio: masses, kinematics, mass matrix, bias forces, accelerations.

robosim keeps every body by itself; what Pinocchio computes in joint coordinates is rebuilt from
the bodies and their Jacobian J, as J^T M J. Needs ``pip install "robosim-variational[pinocchio]"``.

    python examples/06_compare_with_pinocchio.py [FOLDER]
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.dynamics import mass_matrix


def main(out: Path) -> None:
    robot = robosim.load("a1")
    M = mass_matrix(robot, robot.home)
    print(f"mass matrix {M.shape}, symmetric to {np.abs(M - M.T).max():.1e}, ", end="")
    print(f"eigenvalues {np.linalg.eigvalsh(M)[0]:.1e} to {np.linalg.eigvalsh(M)[-1]:.1e}")
    try:
        comparison = robosim.compare(robot, peer="pinocchio")
    except robosim.PeerError as error:
        print(f"skipped: {error}")
        return
    for row in comparison.rows:
        print(f"{row.name:40s} {row.error:.2e}  {'ok' if row.ok else 'DIFFERS'}")
    rows = {row.name: row.error for row in comparison.rows}
    (out / "comparison.json").write_text(json.dumps(rows, indent=2))
    print("all agree" if comparison.passed else "they differ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
