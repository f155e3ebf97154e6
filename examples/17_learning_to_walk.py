"""Four A1 learn to walk on slippery ground, a few tries each.

python examples/17_learning_to_walk.py [FOLDER] [--episodes N]
"""

import argparse
import tempfile
from pathlib import Path

import robosim
from robosim.learning import Learned, learn_gait


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the gait")
    parser.add_argument("--episodes", type=int, default=5, help="tries of each (100 to walk far)")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    robot = robosim.load("a1")
    found = learn_gait(
        robot, learners=4, episodes=options.episodes, seconds=2.0, friction=0.2, progress=True
    )
    found.save(folder / "walk.json")
    found.plot(folder / "walk.png")
    print(f"best of {found.values.size} tries: {found.distance:.2f} m in 2 s")
    print(", ".join(f"{name} = {value:.3f}" for name, value in found.named.items()))

    # A result goes on as if it had not stopped, from its file as well.
    more = learn_gait(robot, episodes=1, resume=Learned.load(folder / "walk.json"))
    print(f"after one more episode: {more.distance:.2f} m; saved in {folder}")


if __name__ == "__main__":
    main()
