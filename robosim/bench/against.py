"""This working tree beside another commit: which cases became slower.

A contender is a process that imports its own tree and runs cases of that tree, without peers. The
processes take turns, because clock rates and other load change from minute to minute.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robosim.bench.registry import machine
from robosim.bench.report import paired
from robosim.errors import OptionError
from robosim.kernels.compiler.cache import FOLDER, PACKAGE

# The cases of a comparison that names none.
USUAL = "a1_stand", "a1_trot", "hinge_chain", "ball_chain", "segments", "batch"
SLOWER = 1.03  # ratio of times above which a case became slower
# A turn: the least CPU time [us] of a step of each row, as JSON, in the last line. Older commits
# run this text as well, so that it uses no more of `robosim.bench` than it must.
TURN = """
import json, sys
import robosim
from robosim.bench import Setup, find
quick, names = sys.argv[1] == "quick", sys.argv[2:]
class Short(Setup):
    repetitions = 3
times = [
    [name, row.told, row.size, min(row.timing.cpu)]
    for name in names for row in find(name).run(Short(quick, ())).rows if row.timing
]
print(json.dumps({"package": robosim.__file__, "times": times}))
"""

Key = tuple[str, str, int]  # case, settings, size
Turn = Mapping[Key, float]  # CPU time of a step [us]


@dataclass(frozen=True)
class Change:
    """The times of one row in both trees.

    Attributes
    ----------
    case, settings, size
        The benchmark, and the row in it.
    before, after : tuple of float
        CPU times of a step [us] in each turn: of the other commit, and of this tree.
    """

    case: str
    settings: str
    size: int
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def row(self) -> str:
        """The row in words."""
        return named(self.case, self.settings, self.size)

    @property
    def of_turns(self) -> float:
        """Median over the turns of this tree's time over that of the commit."""
        return paired(self.after, self.before)

    @property
    def of_minima(self) -> float:
        """The least time of this tree over that of the commit."""
        return min(self.after) / min(self.before)

    @property
    def ratio(self) -> float:
        """That of the two ratios that is nearer to one.

        A change of the clock within a turn moves the first one, and a quiet moment that only one
        of the trees has had moves the second one. A change of the code moves both.
        """
        return min(self.of_turns, self.of_minima, key=lambda ratio: abs(np.log(ratio)))

    @property
    def slower(self) -> bool:
        """Whether the row became slower by more than 3 %."""
        return self.ratio > SLOWER

    def to_dict(self) -> dict[str, Any]:
        """The entries of the JSON file."""
        out: dict[str, Any] = {"case": self.case, "settings": self.settings, "size": self.size}
        for name, times in (("before_us", self.before), ("after_us", self.after)):
            out[name], out[f"{name}_min"] = float(np.median(times)), min(times)
        ratios = {"ratio_of_turns": self.of_turns, "ratio_of_minima": self.of_minima}
        return out | ratios | {"ratio": self.ratio, "slower": self.slower}


@dataclass(frozen=True)
class Comparison:
    """The results of `compare`.

    Attributes
    ----------
    commit : str
        The hash of the other commit.
    turns : int
    changes : tuple of Change
    alone : tuple of str
        Rows that only one of the trees has, which are not compared.
    """

    commit: str
    turns: int
    changes: tuple[Change, ...]
    alone: tuple[str, ...]

    @property
    def slower(self) -> tuple[Change, ...]:
        """The rows that became slower by more than 3 %."""
        return tuple(change for change in self.changes if change.slower)

    def to_dict(self) -> dict[str, Any]:
        """The contents of the JSON file."""
        return {
            "commit": self.commit,
            "turns": self.turns,
            "machine": machine(),
            "rows": [change.to_dict() for change in self.changes],
            "alone": list(self.alone),
        }


def compare(
    names: Sequence[str], commit: str, turns: int, quick: bool, note: Callable[[str], None]
) -> Comparison:
    """Time cases of this working tree and of another commit, in turns.

    The first turn compiles the kernels of both, and is not counted.

    Parameters
    ----------
    names : sequence of str
        Names of benchmarks.
    commit : str
        Anything that git takes for a commit.
    turns : int
        The number of turns that are counted.
    quick : bool
        As in `Setup`.
    note : callable
        Called with a short text before each process.

    Raises
    ------
    OptionError
        If this is no working tree of git, if git does not know the commit, or if the cases cannot
        be run.
    """
    here = working_tree()
    found = commit_of(here, commit)
    with tempfile.TemporaryDirectory(prefix="robosim-against-") as folder:
        other = Path(folder, "tree")
        extract(here, found, other)
        trees = {
            found[:12]: package(other, Path(folder, "before")),
            "the working tree": package(here, Path(folder, "after")),
        }
        taken: dict[str, list[Turn]] = {tree: [] for tree in trees}
        for turn in range(turns + 1):
            # Each one goes first in every other turn.
            for tree in list(trees)[:: 1 if turn % 2 else -1]:
                what = f"turn {turn} of {turns}" if turn else "kernels are compiled where needed"
                note(f"{tree}: {what}")
                one = take_turn(tree, trees[tree], names, quick)
                if turn:
                    taken[tree].append(one)
    before, after = taken.values()
    return Comparison(found, turns, *changes(before, after))


def changes(
    before: Sequence[Turn], after: Sequence[Turn]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Each row that all turns have, and the names of the other rows."""
    everywhere = [key for key in after[0] if all(key in turn for turn in (*before, *after))]
    every = dict.fromkeys(key for turn in (*before, *after) for key in turn)
    rows = [
        Change(*key, tuple(turn[key] for turn in before), tuple(turn[key] for turn in after))
        for key in everywhere
    ]
    return tuple(rows), tuple(named(*key) for key in every if key not in everywhere)


def named(case: str, settings: str, size: int) -> str:
    """A row in words."""
    return ", ".join(part for part in (case, settings, f"n = {size}" if size else "") if part)


def working_tree() -> Path:
    """The root of the repository that robosim is imported from.

    Raises
    ------
    OptionError
        If robosim is installed from elsewhere, or if git does not know the folder.
    """
    root = PACKAGE.resolve().parent
    if not (root / "pyproject.toml").exists():
        raise OptionError(
            f"--against compares two commits, and robosim is installed in '{PACKAGE}', which is no "
            "clone of its repository (in a clone: pip install -e .)"
        )
    if Path(git(root, "rev-parse", "--show-toplevel").decode().strip()).resolve() != root:
        raise OptionError(f"--against compares two commits, and git does not manage '{root}'")
    return root


def commit_of(root: Path, commit: str) -> str:
    """The full hash of a commit.

    Raises
    ------
    OptionError
        If git does not know the commit.
    """
    try:
        asked = git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"
        )
    except OptionError:
        raise OptionError(
            f"git knows no commit '{commit}' in '{root}' (a hash, a tag, a branch, or HEAD~3; "
            "'git log --oneline' lists commits)"
        ) from None
    return asked.decode().strip()


def git(root: Path, *arguments: str) -> bytes:
    """The output of git in a folder.

    Raises
    ------
    OptionError
        If git is not installed, or refuses.
    """
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True)
    except FileNotFoundError:
        raise OptionError("--against needs git, which is not installed") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()
        raise OptionError(f"--against needs a git repository: git {arguments[0]}: {told}")
    return done.stdout


def extract(root: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder; git keeps no record of it, unlike a worktree."""
    with tarfile.open(fileobj=io.BytesIO(git(root, "archive", commit))) as files:
        files.extractall(folder, filter="data")


def package(tree: Path, folder: Path) -> Path:
    """A folder from which `robosim` can be imported as setuptools would install a tree.

    The folder has links to files of the tree, and stands before an editable install on the path.
    """
    told = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    places = told["tool"]["setuptools"]["package-dir"]
    links = folder / "robosim"
    links.mkdir(parents=True)
    try:
        for entry in (tree / places["robosim"]).iterdir():
            (links / entry.name).symlink_to(entry)
        for name, place in places.items():
            part = name.removeprefix("robosim.")
            if "." not in part and part != "robosim" and not (links / part).exists():
                (links / part).symlink_to(tree / place)
    except OSError as error:
        raise OptionError(
            f"--against needs symbolic links ({error.strerror}); Windows has them in developer mode"
        ) from None
    return folder


def take_turn(tree: str, folder: Path, names: Sequence[str], quick: bool) -> Turn:
    """Run cases in a process that imports robosim from a folder.

    Kernels of all trees are kept where those of this one are, each in a folder of its own.

    Raises
    ------
    OptionError
        If the process fails, for example because a commit does not have one of the cases.
    """
    cache = FOLDER.parent if FOLDER else folder / "kernels"
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", TURN, "quick" if quick else "full", *names],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise OptionError(f"the benchmarks of {tree} cannot be run: {last}")
    told = json.loads(done.stdout.splitlines()[-1])
    if not Path(told["package"]).is_relative_to(folder):
        raise OptionError(
            f"Python imports '{told['package']}' instead of {tree}; is another robosim in front of "
            "PYTHONPATH?"
        )
    return {(case, settings, size): us for case, settings, size, us in told["times"]}
