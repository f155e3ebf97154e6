"""Whatever is in a model file: a robot, or an error that names the file. Tried at random.

    python -m benchmarks.fuzz_loaders --out DIR --minutes M [--kind urdf|mjcf|all] [--seed N]

Takes real model files (of example-robot-data, dm_control and gymnasium, where they are installed,
and the shipped ones), with small meshes in place of theirs, half of the MJCF files with tendons,
muscles and other actuators made for them, breaks them in one to five places, bytes or elements,
together with the meshes and files beside them, and loads them in a process that is watched. A
finding is any other exception than a `ModelError` with the file's name, a read
outside of the folders that a file may read from, more than LONGEST seconds, or more than MEMORY.
Each is kept under DIR with its input; DIR/fuzz.json says how many there were of what. Seed N makes
input N.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import os
import queue
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import trimesh
from lxml import etree

import robosim
from robosim import models
from robosim.loaders import disk_cache
from robosim.loaders.packages import example_robot_data

LONGEST = 30.0  # for one input, of the processor [s]; of the clock it is ten times that
MEMORY = 1 << 30  # beyond what the process has before it loads anything [bytes]
MESHES = ("m.stl", "m.obj", "m.dae", "m.glb")

NUMBERS = (
    "0", "-0", "1", "-1", "nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "1e16",
    "1e-16", "0.1", "3.14159265358979", "1_0", "0x10", "1,2", "1 2 3", "0 0 0", "1 0 0 0", "",
    " ", "one",
)  # fmt: skip
TEXTS = (
    "", " ", "a", "world", "..", "/", "\\", "'", '"', "&", "<", "\u202e", "机器人", "a" * 5000,
    "%s", "${1}", "$(find x)", "true", "false", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd",
    "/dev/zero", "package://../../etc/passwd", "http://127.0.0.1:9/x.stl", "package://",
    "model://x", "m.stl", ".", "robot.urdf", "robot.xml", *MESHES,
)  # fmt: skip
BYTES = (
    b"<", b">", b"</", b"/>", b"&", b"&x;", b"\0", b"\xff\xfe", b'"', b"<!--", b"-->", b"<![CDATA[",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"<?xml version='1.0' encoding='utf-16'?>", b"xmlns='x'",
    b"\r", b"=",
)  # fmt: skip


def base_files(kind: str) -> list[Path]:
    """Real model files that are installed here."""
    found: list[Path] = []
    if kind == "urdf":
        found += [models.path(name) for name in models.FILES]
        share = example_robot_data()
        if share is not None:
            found += sorted((share / "example-robot-data" / "robots").rglob("*.urdf"))
    else:
        for package in ("dm_control", "gymnasium"):
            spec = importlib.util.find_spec(package)
            for folder in spec.submodule_search_locations or () if spec else ():
                found += sorted(Path(folder).rglob("*.xml"))
    return [path for path in found if path.stat().st_size < 200_000]


def with_small_meshes(text: bytes) -> bytes:
    """The file with small meshes in place of its own, which may be large and are elsewhere."""
    try:
        root = etree.fromstring(text)
    except etree.XMLSyntaxError:
        return text
    for k, mesh in enumerate(root.iter("mesh")):
        for attribute in ("filename", "file"):
            if mesh.get(attribute) is not None:
                mesh.set(attribute, MESHES[k % len(MESHES)])
    return etree.tostring(root)


def broken(text: bytes, rng: random.Random) -> bytes:
    """A model file that is broken in one to five places."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        text = _broken_tree(text, rng) if rng.random() < 0.85 else broken_bytes(text, rng)
    return text


def broken_bytes(text: bytes, rng: random.Random) -> bytes:
    """Bytes cut out, repeated, changed, put in, or cut off."""
    a = rng.randrange(len(text) + 1)
    b = min(len(text), a + rng.choice((1, 1, 2, 8, 60, 1000)))
    match rng.randrange(6):
        case 0:
            return text[:a] + text[b:]
        case 1:
            return text[:b] + text[a:b] * rng.choice((1, 2, 50)) + text[b:]
        case 2:
            return text[:a] + rng.randbytes(b - a) + text[b:]
        case 3:
            return text[:a] + rng.choice(BYTES) + text[a:]
        case 4:
            return text[:a] + rng.choice(NUMBERS).encode() + text[b:]
        case _:
            return text[:a] if rng.random() < 0.2 else text[:a] + b" " + text[a:]


def _broken_tree(text: bytes, rng: random.Random) -> bytes:
    """An element removed, repeated, moved, renamed or nested, or an attribute changed."""
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return broken_bytes(text, rng)
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    one, other = rng.choice(elements), rng.choice(elements)
    parent = one.getparent()
    again = copy.deepcopy(one)
    match rng.randrange(14):
        case 0 if parent is not None:
            parent.remove(one)
        case 1 if parent is not None:
            parent.insert(rng.randrange(len(parent) + 1), again)
        case 2:
            other.append(again)
        case 3:
            one.tag = other.tag
        case 4 if one.attrib:
            del one.attrib[rng.choice(list(one.attrib))]
        case 5 if one.attrib and other.attrib:
            one.set(rng.choice(list(one.attrib)), other.get(rng.choice(list(other.attrib))))
        case 6:
            for _ in range(rng.choice((1, 20, 300))):
                one = etree.SubElement(one, other.tag, dict(other.attrib))
        case _ if one.attrib:
            name = rng.choice(list(one.attrib))
            words = one.get(name).split()
            if words and rng.random() < 0.7:
                words[rng.randrange(len(words))] = rng.choice(NUMBERS)
            value = " ".join(words) if rng.random() < 0.7 else rng.choice(TEXTS)
            one.set(name, value)
    return etree.tostring(root)


def with_transmissions(text: bytes, rng: random.Random) -> bytes:
    """An MJCF file with tendons, actuators, muscles and sensors over whatever it has."""
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return text
    names = {tag: [one.get("name") for one in root.iter(tag) if one.get("name")] or ["none"]
             for tag in ("joint", "site", "geom", "body")}  # fmt: skip
    tendons = etree.SubElement(root, "tendon")
    for k in range(rng.randrange(1, 4)):
        ends = rng.choice(({}, {"range": "0 1"}, {"stiffness": "3"}, {"armature": ".1"}))
        if rng.random() < 0.5:
            fixed = etree.SubElement(tendons, "fixed", name=f"made{k}", **ends)
            for joint in rng.choices(names["joint"], k=rng.randrange(1, 4)):
                etree.SubElement(fixed, "joint", joint=joint, coef=rng.choice(NUMBERS))
            continue
        spatial = etree.SubElement(tendons, "spatial", name=f"made{k}", **ends)
        for _ in range(rng.randrange(1, 5)):
            what = rng.choice(("site", "site", "geom"))
            etree.SubElement(spatial, what, {what: rng.choice(names[what])})
            if rng.random() < 0.2:
                etree.SubElement(spatial, "pulley", divisor=rng.choice(NUMBERS))
    actuators = etree.SubElement(root, "actuator")
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(("muscle", "muscle", "general", "motor", "position", "velocity",
                           "intvelocity", "damper", "cylinder", "adhesion"))  # fmt: skip
        at = rng.choice(({"joint": rng.choice(names["joint"])}, {"site": rng.choice(names["site"])},
                         {"tendon": f"made{rng.randrange(4)}"}))  # fmt: skip
        made = etree.SubElement(actuators, kind, at)
        of = ("lengthrange", "range", "ctrlrange", "force", "gear", "dyntype", "gaintype",
              "biastype", "dynprm", "kp", "dampratio")  # fmt: skip
        for name in rng.sample(of, k=2):
            made.set(name, rng.choice((*NUMBERS, "0 1", "-1 1", "muscle", "affine", "filter")))
    sensors = etree.SubElement(root, "sensor")
    for kind, at in (("jointpos", "joint"), ("tendonpos", "tendon"), ("touch", "site")):
        of = f"made{rng.randrange(4)}" if at == "tendon" else rng.choice(names[at])
        etree.SubElement(sensors, kind, {at: of})
    return etree.tostring(root)


def small_meshes() -> dict[str, bytes]:
    """A box in each format."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    found = {}
    for name in MESHES:
        data = box.export(file_type=Path(name).suffix[1:])
        found[name] = data.encode() if isinstance(data, str) else data
    return found


SRDF = b"""<robot name="r">
<group_state name="s" group="g"><joint name="j" value="0.5"/></group_state>
<disable_collisions link1="a" link2="b"/><passive_joint name="j"/></robot>"""
LOOPS = b"""loops:
  - {name: l, type: revolute, link1: {link: a, xyz: [0, 0, 1]}, link2: {link: b}, axis: [0, 1, 0]}
passive: [j]
"""


class Inputs:
    """Input number N of a kind, written into a folder."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.texts = [with_small_meshes(path.read_bytes()) for path in base_files(kind)]
        self.meshes = small_meshes()

    def write(self, seed: int, folder: Path) -> Path:
        """Write the files of a seed; the model file is returned."""
        rng = random.Random(f"{self.kind} {seed}")
        path = folder / ("robot.urdf" if self.kind == "urdf" else "robot.xml")
        text = rng.choice(self.texts)
        if self.kind == "mjcf" and rng.random() < 0.5:
            text = with_transmissions(text, rng)
            text = text if rng.random() < 0.5 else broken(text, rng)
        else:
            text = broken(text, rng)
        path.write_bytes(text)
        for name, data in self.meshes.items():
            if rng.random() < 0.1:
                data = broken_bytes(data, rng)
            (folder / name).write_bytes(data)
        if self.kind == "urdf":
            for name, data in (("robot.srdf", SRDF), ("robot.loops.yaml", LOOPS)):
                if rng.random() < 0.15:
                    for _ in range(rng.randrange(3)):
                        data = broken_bytes(data, rng)
                    (folder / name).write_bytes(data)
        return path


def watch_reads(folder: Path) -> list[str]:
    """A list that gets every file that is opened and that a model file must not have opened."""
    share = example_robot_data()
    allowed = [folder.resolve(), Path(sys.prefix), Path(sys.base_prefix), disk_cache.folder()]
    allowed += [Path(robosim.__file__).resolve().parents[1], *([share] if share else [])]
    seen: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = Path(os.path.abspath(os.fsdecode(arguments[0]))).resolve()
            if not any(path.is_relative_to(place) for place in allowed):
                seen.append(str(path))
        elif (
            event.startswith(("socket.", "subprocess.", "os.system", "os.exec"))
            # Which expands files with expressions of xacro.
            and "robosim.loaders.xacro_process" not in str(arguments)
        ):
            seen.append(event)

    sys.addaudithook(hook)
    return seen


def tried(path: Path, seen: list[str]) -> str:
    """What came of loading a file: "loaded", "refused", or what is wrong."""
    seen.clear()
    try:
        robosim.load(path)
        outcome = "loaded"
    except robosim.ModelError as error:
        outcome = "refused" if error.file is not None else f"no file is named: {error}"
    except BaseException:  # that is what is looked for
        outcome = traceback.format_exc()
    return f"read outside: {seen}" if seen else outcome


def work(kind: str, seed: int, folder: Path) -> None:
    """Try one input after the other and answer in lines of JSON, until killed."""
    warnings.simplefilter("error")  # a warning of Python's own is nothing to show a user either
    inputs = Inputs(kind)
    robosim.load("cube")
    tempfile.gettempdir()  # which opens a file, once
    seen = watch_reads(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (before + MEMORY, before + MEMORY))
    while True:
        for old in folder.iterdir():
            old.unlink()
        path = inputs.write(seed, folder)
        start = time.process_time()
        outcome = tried(path, seen)
        took = time.process_time() - start
        if took > LONGEST:
            outcome = f"more than {LONGEST} s"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        print(json.dumps([seed, outcome, took, peak]), flush=True)
        seed += 1


def hunt(kind: str, seed: int, seconds: float, out: Path) -> dict[str, Any]:
    """Try inputs for a time; what came of them, and the inputs that were findings under `out`."""
    counts: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    slowest = largest = 0.0
    end = time.monotonic() + seconds
    first = seed
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        while time.monotonic() < end:
            lines = _Lines([sys.executable, "-m", "benchmarks.fuzz_loaders", "--work", kind,
                            "--seed", str(seed), "--out", str(folder)])  # fmt: skip
            outcome = "the process ended"
            while time.monotonic() < end:
                line = lines.next(10 * LONGEST)
                if line is None:
                    outcome = lines.stop(f"more than {10 * LONGEST} s")
                    break
                seed, outcome, took, peak = json.loads(line)
                slowest, largest = max(slowest, took), max(largest, peak)
                counts[outcome if outcome in ("loaded", "refused") else "finding"] += 1
                if outcome not in ("loaded", "refused"):
                    findings.append(_kept(kind, seed, outcome, folder, out))
                seed += 1
            else:
                lines.stop("")
                break
            counts["finding"] += 1
            findings.append(_kept(kind, seed, outcome, folder, out))
            seed += 1
    return {"kind": kind, "first_seed": first, "tried": sum(counts.values()), **counts,
            "slowest_s": slowest, "largest_growth_mb": largest / 2**20,
            "findings": findings}  # fmt: skip


class _Lines:
    """The lines that a process writes, waited for no longer than is said."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def next(self, seconds: float) -> str | None:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def stop(self, reason: str) -> str:
        ended = self._process.poll()
        self._process.kill()
        self._process.wait()
        return reason if ended is None else f"the process ended with {ended}"


def _kept(kind: str, seed: int, outcome: str, folder: Path, out: Path) -> dict[str, Any]:
    """A finding, its input written again under `out`, as the process may be a step ahead."""
    place = out / f"{kind}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    Inputs(kind).write(seed, place)
    (place / "outcome.txt").write_text(outcome)
    return {"seed": seed, "outcome": outcome.strip().splitlines()[-1] if outcome else ""}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--kind", choices=("urdf", "mjcf", "all"), default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.seed, arguments.out)
    kinds = ("urdf", "mjcf") if arguments.kind == "all" else (arguments.kind,)
    kinds = tuple(kind for kind in kinds if base_files(kind))
    arguments.out.mkdir(parents=True, exist_ok=True)
    seconds = 60 * arguments.minutes / max(1, len(kinds))
    results = [hunt(kind, arguments.seed, seconds, arguments.out) for kind in kinds]
    (arguments.out / "fuzz.json").write_text(json.dumps(results, indent=1))
    for result in results:
        print(json.dumps({**result, "findings": len(result["findings"])}))


if __name__ == "__main__":
    main()
