"""robosim: robots in maximal coordinates, stepped by a variational integrator.

The physics, and nothing that reads model files or draws. Quaternions are scalar first
(w, x, y, z), local to world; units are SI; omega is in body axes.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robosim.description.bearing import Bearing
from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HalfSpace, HeightField, TriangleMesh
from robosim.description.place import Place
from robosim.description.sensor import Sensor, Zone
from robosim.description.soft import Soft
from robosim.description.springs import Coupling, PointSpring, Potential
from robosim.description.stance import Stance
from robosim.description.strands import Net, Strand
from robosim.description.surfaces import Anisotropy
from robosim.description.tendon import Tendon
from robosim.errors import (
    ControllerError,
    ConvergenceError,
    DeadPointError,
    LoadError,
    LogError,
    ModelError,
    NoMotionError,
    OptionError,
    PeerError,
    RobosimError,
    SaveError,
    StateError,
    ViewerError,
)
from robosim.submodules import on_first_use
from robosim.version import __version__

if TYPE_CHECKING:
    from robosim.batch import BatchSimulation, warmup
    from robosim.dynamics import Dynamics
    from robosim.formulation import Contact
    from robosim.linearization.linearization import linearize
    from robosim.loaders import load
    from robosim.loaders.peers import compare
    from robosim.loaders.writers import convert, save
    from robosim.log import Log
    from robosim.minimal import MinimalSimulation
    from robosim.minimal.second import second_derivatives
    from robosim.peers.comparison import Comparison
    from robosim.peers.conversions import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio
    from robosim.reduced import PointForce, ReducedSimulation
    from robosim.simulation import Simulation, StepInfo

# Started in a source tree, this folder hides the installed package, and with it the subpackages
# that setuptools maps into it (loaders, models, viz); there they lie beside this folder.
_SOURCE_TREE = Path(__file__).resolve().parent.parent
if (_SOURCE_TREE / "pyproject.toml").is_file() and (_SOURCE_TREE / "loaders").is_dir():
    __path__.append(str(_SOURCE_TREE))


# Imported on first use, so that building and loading a model does not wait for numba.
_LAZY = {
    "BatchSimulation": "robosim.batch",
    "Comparison": "robosim.peers.comparison",
    "Contact": "robosim.formulation",
    "Dynamics": "robosim.dynamics",
    "Log": "robosim.log",
    "MinimalSimulation": "robosim.minimal",
    "PointForce": "robosim.reduced",
    "ReducedSimulation": "robosim.reduced",
    "Simulation": "robosim.simulation",
    "StepInfo": "robosim.simulation",
    "compare": "robosim.loaders.peers",
    "convert": "robosim.loaders.writers",
    "from_mujoco": "robosim.peers.conversions",
    "from_pinocchio": "robosim.peers.conversions",
    "linearize": "robosim.linearization.linearization",
    "load": "robosim.loaders",
    "save": "robosim.loaders.writers",
    "second_derivatives": "robosim.minimal.second",
    "to_mujoco": "robosim.peers.conversions",
    "to_pinocchio": "robosim.peers.conversions",
    "warmup": "robosim.batch",
}

# Modules that users name after `import robosim` alone, imported on first use as well.
_module = on_first_use(
    __name__,
    (
        "actuators", "batch", "bodies", "cluster", "collision", "comparison", "conformance",
        "controllers", "conversions", "derivatives", "dynamics", "elements", "envs", "gradients",
        "identification", "joints", "learning", "loaders", "log", "mechanism", "models", "muscles",
        "optimize", "overlaps", "parallel", "peers", "policies", "readout", "referee", "sensors",
        "tendons", "viz",
    ),
)  # fmt: skip

__all__ = [
    "Anisotropy",
    "BatchSimulation",
    "Bearing",
    "Body",
    "Comparison",
    "Contact",
    "ContactPoint",
    "ControllerError",
    "ConvergenceError",
    "Coupling",
    "DeadPointError",
    "Dynamics",
    "Frame",
    "Geometry",
    "HalfSpace",
    "HeightField",
    "Joint",
    "LoadError",
    "Log",
    "LogError",
    "Mechanism",
    "MinimalSimulation",
    "ModelError",
    "Net",
    "NoMotionError",
    "OptionError",
    "PeerError",
    "Place",
    "PointForce",
    "PointSpring",
    "Potential",
    "ReducedSimulation",
    "RobosimError",
    "SaveError",
    "Sensor",
    "Simulation",
    "Soft",
    "Stance",
    "StateError",
    "StepInfo",
    "Strand",
    "Tendon",
    "TriangleMesh",
    "ViewerError",
    "Zone",
    "__version__",
    "compare",
    "convert",
    "from_mujoco",
    "from_pinocchio",
    "linearize",
    "load",
    "save",
    "second_derivatives",
    "to_mujoco",
    "to_pinocchio",
    "warmup",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        found = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return found
    return _module(name)


def __dir__() -> list[str]:
    return sorted(__all__)
