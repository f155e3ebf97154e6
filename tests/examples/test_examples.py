"""Every example runs as its users run it, without a warning, and writes what it says.

They share the kernels' cache with the other tests, so that nothing is compiled twice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Example -> what it writes, and what its output has to say.
EXPECTED: dict[str, tuple[tuple[str, ...], str]] = {
    "01_stand_a1": (
        ("stand.parquet", "stand.png"),
        r"steps, \d\.\d\d iterations each\nsmallest gap of any foot +\d",
    ),
    "02_controller": (("sway.parquet", "sway.png"), r"height of the base  0\.1\d\d to 0\.\d+ m"),
    "03_double_pendulum_energy": (("energy.png",), r"largest energy error    0\.\d\d%"),
    "04_drop_cube": (("drop.png",), r"robosim: lowest gap \+\d"),
    "05_build_a_mechanism": (("hopper.csv",), r": 0\.1000\d\d m per rad"),
    "06_compare_with_pinocchio": ((), r"all agree|skipped: "),
    "07_live_view": (("replay.html",), r"live at http://127\.0\.0\.1:\d+/"),
    "08_your_own_urdf": (("crane.urdf", "crane.csv"), r"boom ends at (0\.9|1\.0)\d\d m"),
    "09_closed_loops": (
        ("loops.png",),
        r"(.*closed to \d\.\de-1\d m.* 0 steps.*\n){4}.*0\.69\d+ m",
    ),
    "10_minitaur": (("hop.parquet",), r"carry 1\.0000(.*\n)+  base up to 0\.5\d\d m, feet to 0\.3"),
    "11_terrain": (
        ("terrain.html",),
        r"gap on the way  [+-]\d\.\de-\d+ m\n(.|\n)*table carries box 0 with 29\.4",
    ),
    "12_batch": (("batch.npz",), r"8 of 8 robots stand(.|\n)*threads: the same to the last bit"),
    "13_computed_torque": (
        ("path.png",),
        r"(panda|chain.*): \d+ times faster(.|\n)*largest error 0\.[01]\d mrad",
    ),
    "14_lift_a_cube": (
        ("lift.parquet",),
        r"0\.1\d\d m over the table\n.*: 20\.00 and -20\.00 N; .*e-(09|1\d) m/s\n.* 8\.829 N",
    ),
    "15_knee_with_muscles": (
        ("stretched.png", "bent.png"),
        r"stretched to \d+ degrees.*: 0\.\d\d a second\nbent to [67]\d degrees.*: 0\.\d\d a",
    ),
    "16_hybrid_dynamics": (
        ("hybrid.png",),
        r"4 ms: 2\d\.\d\d mrad(.|\n)*2 ms: 1\d\.\d\d mrad(.|\n)*torques of up to \d+\.\d N m",
    ),
    "17_learning_to_walk": (("walk.json", "walk.png"), r"best of 20 tries: 0\.\d+ m in 2 s"),
    "18_exoskeleton": (
        ("exoskeleton.png",),
        r"spastic: 6\.86 N m(.|\n)*largest scale: 0\.21\d(.|\n)*open by \d+e-1\d m",
    ),
    "19_your_own_environment": (
        ("arm.urdf",),
        r"sees 6 numbers; reward_distance -\d(.|\n)*: Reach-v0\n64 at once, at random: -\d",
    ),
    "20_ppo_with_sb3": (
        (),
        r"after 256 steps: -?\d\.\d\d m/s|skipped: .*robosim-variational\[sb3\]",
    ),
    "21_ppo_in_one_file": ((), r"256 steps: \d\.\d\d m/s|skipped: .*robosim-variational\[sb3\]"),
    "22_search_on_ray": (
        ("gaits.csv",),
        r"1 on \w+: best 0\.\d+ m(.|\n)*2 on (Ray|threads)(.|\n)*the same to the last bit",
    ),
    "23_swing_up": (
        ("swing_up.parquet",),
        r"cost \d+\.\d\d\nlargest torque \d+\.\d N m, .*\nafter 12 s \d\.\de-0[3-9] rad",
    ),
    "24_policy_beside_mujoco": (
        ("gait.onnx", "beside_mujoco.html"),
        r"in robosim .* x = \+0\.\d+ m\nin MuJoCo .* x = \+0\.\d+ m",
    ),
    "25_hop_without_a_schedule": (
        ("hop.npz",),
        r"Trajectory\('converged'(.|\n)*in the air from 0\.3\d to 0\.4\d s, \d+ N at most",
    ),
    "27_soft_parts": (
        ("cube.html",),
        r"15 particles of 0\.\d+ kg, 8 springs(.|\n)*up to \d+ mJ of strain\n.* within 0\.\d\d%",
    ),
    "28_lidar_map": (
        ("map.png", "scans.npz"),
        r"\d+ points of 20 turns, 0\.\d+ m of trot\n[78]\d% .* to 0\.00\d m\nlogged: 5 scans",
    ),
    "29_find_a_cube": (
        ("depth.png",),
        r"seen at 0\.50\d, 0\.15\d m, and is at 0\.506, 0\.159 m\nreached: True; [0-3]\.\d mm",
    ),
    "30_gears": (
        ("gears.png",),
        r"ratio -1\.6\d\d, of the teeth -1\.667\n.* by 0\.[01]\d mm; teeth leave 0\.20 mm",
    ),
    "31_motors": (
        ("motors.png",),
        r"ideal: .* 18\d\.\d .* 0\.0\d N m(.|\n)*at 2\d\.\d degrees Cel(.|\n)* 3\d\.\d\d N m of",
    ),
    "32_audit_a_grasp": (
        ("grip.xml", "audit.html"),
        r"creeps by 0\.0[5-9]\d+ mm/s(.|\n)*noslip_iterations=.10. leaves \S+ mm/s|not installed",
    ),
    "33_parallel_ankle": (
        ("ankle.urdf", "ankle.xml"),
        r"roll up to 0\.500 rad: limit of ankle_roll\n.* within \d\.\de-1\d rad(.|\n)*a tree",
    ),
    "26_identify": (("arm.parquet",), r"[+-]\d\.\d standard deviations from what it is"),
    "34_push_recovery": (
        ("trunk.csv",),
        r"leans by \d\.\d degrees\nends 0\.0\d\d m aside at a height of 0\.2\d\d m",
    ),
}
OPTIONS = {
    "07_live_view": ("--seconds", "1"),
    "19_your_own_environment": ("--quick",),
    "20_ppo_with_sb3": ("--quick",),
    "21_ppo_in_one_file": ("--quick",),
    "22_search_on_ray": ("--quick",),
    "23_swing_up": ("--quick",),
    "26_identify": ("--quick",),
    "25_hop_without_a_schedule": ("--quick",),
}


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    files, said = EXPECTED[name]
    script = str(EXAMPLES / f"{name}.py")
    command = [sys.executable, "-W", "error", script, str(tmp_path), *OPTIONS.get(name, ())]
    # A folder of its own, so that a file that goes elsewhere than it should is not left behind.
    environment = {**os.environ, "TMPDIR": str(tmp_path), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert re.search(said, done.stdout), done.stdout
    for file in files:
        assert (tmp_path / file).stat().st_size > 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 70


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_say_what_they_take(path: Path) -> None:
    """Asked for help, an example prints it and does nothing else."""
    command = [sys.executable, str(path), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {path.name}")
