"""Model files that new branches of the loaders lead to: fuzz_loaders.py, guided by coverage.

    pip install atheris
    python -m benchmarks.fuzz_atheris urdf|mjcf CORPUS [-max_total_time=SECONDS ...]

Begins with the real files that `benchmarks.fuzz_loaders` breaks, and changes them half the time as
that does, element by element, and half the time byte by byte. Inputs that reach something new are
kept in the folder CORPUS. Ends at the first finding, which is told and kept; what that is, is said
there. Other options are those of libFuzzer.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["robosim.loaders"]):
    import robosim.loaders.mjcf.model
    import robosim.loaders.urdf

import robosim
from benchmarks.fuzz_loaders import Inputs, broken, tried, watch_reads

LARGEST = 200_000  # [bytes]


def mutated(data: bytes, size: int, seed: int) -> bytes:
    """Another input, made of one."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        return bytes(atheris.Mutate(data, size))
    return broken(data, rng)[:size]


def main() -> None:
    """The command line."""
    kind, corpus = sys.argv[1], Path(sys.argv[2])
    inputs = Inputs(kind)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(inputs.texts):
        (corpus / f"real-{number}").write_bytes(text)
    warnings.simplefilter("error")
    robosim.load("cube")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        for name, data in inputs.meshes.items():
            (folder / name).write_bytes(data)
        path = folder / ("robot.urdf" if kind == "urdf" else "robot.xml")
        seen = watch_reads(folder)

        def one(data: bytes) -> None:
            path.write_bytes(data)
            outcome = tried(path, seen)
            if outcome not in ("loaded", "refused"):
                raise RuntimeError(outcome)

        options = [f"-max_len={LARGEST}", "-timeout=30", "-rss_limit_mb=2048"]
        atheris.Setup(
            [sys.argv[0], *options, *sys.argv[3:], str(corpus)], one, custom_mutator=mutated
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
