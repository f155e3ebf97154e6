"""Imports point down a list of layers: read from the sources, lazy and type-only ones too.

Modules of one layer may import each other, but not in circles. Exceptions are listed, each as
(who, whom); one that does not occur any more has to leave the list.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import robosim

ROOT = Path(__file__).resolve().parents[2]
# setuptools maps the siblings of robosim/ into the package.
FOLDERS = {"robosim": "robosim", **{f: f"robosim.{f}" for f in ("loaders", "models", "viz")}}

# From below to above. A name stands for the module or the package with all that is in it, but for
# what is named itself.
LAYERS = {
    "basics": (
        "blame", "errors", "extras", "locks", "progress", "quaternions", "safe_xml", "se3",
        "submodules", "validation", "version", "xml_repairs",
    ),
    "description": ("description",),
    "compiled": ("compiled",),
    "kernels": ("kernels",),
    "runtime": ("runtime",),
    "log": ("log",),
    "kinematics": ("kinematics",),
    "inverse kinematics": ("inverse_kinematics",),
    "dynamics": ("dynamics",),
    "rays": ("rays",),
    "formulation": ("formulation",),
    "control": ("control",),
    "simulation": ("simulation", "overlaps"),
    "linearization": ("linearization",),
    "minimal": ("minimal",),
    "reduced": ("reduced",),
    "batch": ("batch",),
    "cluster": ("cluster", "workers"),
    "peers": ("peers",),
    "files and views": ("loaders", "models", "viz"),
    "learning": (
        "gradients", "identification", "learning", "optimize", "parallel", "policies",
    ),
    "environments": ("envs", "ahead"),
    "referee": ("referee",),
    "measuring": ("measuring",),
    "package": ("__init__",),
    "programs": ("cli", "bench", "experiments", "__main__"),
    # Names that users know, of what lies below; nothing here imports them.
    "documented": (
        "actuators", "bodies", "collision", "comparison", "conformance", "controllers",
        "conversions", "derivatives", "elements", "joints", "mechanism", "muscles",
        "readout", "sensors", "tendons",
    ),
}  # fmt: skip
ORDER = list(LAYERS)
# Within two of the folders, the modules and folders that lie in them, from below to above.
ROOMS = {
    "robosim.compiled": (
        "arrays", "kinds", "records", "model", "order", "fronts", "elimination", "state", "memory",
        "links", "loads", "minimal", "workspace", "building", "rays", "drawing", "motors",
    ),
    "robosim.kernels": (
        "compiler", "status", "equations", "narrow_phase", "contact", "solve", "step", "recursive",
        "minimal", "rays", "drawing", "motors",
    ),
}  # fmt: skip
# What the package loads when it is imported; all else waits until its name is asked for.
EAGER = {"basics", "description"}

# Methods of a lower layer that a higher one does, which they import when they are called.
UPWARD = {
    ("robosim.description.touching", "robosim.overlaps"),  # Mechanism.add and attach
    ("robosim.log.files", "robosim.loaders.writers.text"),  # the model in a log of ROS
    ("robosim.log.memory", "robosim.viz.plots"),  # Log.plot
    ("robosim.simulation.frames", "robosim.viz.drawing"),  # Simulation.render
}
CIRCLES: set[tuple[str, str]] = set()
# Between folders, or modules that lie beside them.
FOLDER_CIRCLES: set[tuple[str, str]] = set()


def module_of(path: Path, folder: str) -> str:
    parts = path.relative_to(ROOT / folder).with_suffix("").parts
    return ".".join((FOLDERS[folder], *(part for part in parts if part != "__init__")))


SOURCES = {
    module_of(path, folder): path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
}


def layer_of(module: str) -> str:
    """The layer whose name is the longest one that the module's begins with."""
    name = module.removeprefix("robosim").removeprefix(".") or "__init__"
    found = {
        known: layer
        for layer, names in LAYERS.items()
        for known in names
        if f"{name}.".startswith(f"{known}.")
    }
    assert found, f"{module} belongs to no layer"
    return found[max(found, key=len)]


def imported(node: ast.AST) -> set[str]:
    """The modules of ours that are imported in a piece of source."""
    found = set()
    for part in ast.walk(node):
        names = []
        if isinstance(part, ast.Import):
            names = [alias.name for alias in part.names]
        elif isinstance(part, ast.ImportFrom):
            assert part.level == 0, "imports name the whole module"
            whole = [f"{part.module}.{alias.name}" for alias in part.names]
            # What a package's own file gives is imported from it, not from a module in it.
            names = [name if name in SOURCES else str(part.module) for name in whole]
        found |= {name for name in names if name in SOURCES}
    return found


TREES = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in SOURCES.items()}
IMPORTS = {module: imported(tree) - {module} for module, tree in TREES.items()}


def arrows() -> set[tuple[str, str]]:
    return {(module, other) for module, others in IMPORTS.items() for other in others}


def folder_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def height(module: str) -> int:
    return ORDER.index(layer_of(module))


def test_every_import_of_ours_is_of_a_module_that_is_there():
    """A name that is misspelt here would hide an import from the other tests."""
    assert {"robosim", "robosim.loaders", "robosim.models", "robosim.viz"} <= SOURCES.keys()
    for tree in TREES.values():
        for part in ast.walk(tree):
            if isinstance(part, ast.ImportFrom) and str(part.module).split(".")[0] == "robosim":
                assert part.module in SOURCES, part.module
            if isinstance(part, ast.Import):
                ours = [a.name for a in part.names if a.name.split(".")[0] == "robosim"]
                assert set(ours) <= SOURCES.keys()


def test_all_folders_are_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["setuptools"]
    packages = {
        module: str(path.parent.relative_to(ROOT))
        for module, path in SOURCES.items()
        if path.name == "__init__.py"
    }
    assert set(listed["packages"]) == set(packages)
    assert listed["package-dir"].items() <= packages.items()


def test_imports_point_down():
    upward = {(a, b) for a, b in arrows() if height(a) < height(b)}
    assert upward - UPWARD == set(), "imports of a layer above"
    assert UPWARD - upward == set(), "exceptions that are none any more"


def test_imports_within_kernels_and_what_they_work_on_point_down():
    for folder, rooms in ROOMS.items():
        inside = {
            (a.split(".")[2], b.split(".")[2])
            for a, b in arrows()
            if a.startswith(f"{folder}.") and b.startswith(f"{folder}.")
        }
        assert {room for arrow in inside for room in arrow} <= set(rooms)
        assert [(a, b) for a, b in inside if rooms.index(a) < rooms.index(b)] == []


def in_circles(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that lie on a circle."""
    after: dict[str, set[str]] = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        stack = [start]
        while stack:
            new = after.get(stack.pop(), set()) - found
            found |= new
            stack += new
        return found

    reach = {a: reached(a) for a in after}
    return {(a, b) for a, b in edges if a in reach.get(b, set())}


def test_only_the_command_line_imports_the_experiments():
    folders = {(folder_of(a), folder_of(b)) for a, b in arrows()}
    importers = {a for a, b in folders if b == "robosim.experiments"}
    assert importers == {"robosim.experiments", "robosim.cli"}


def test_modules_of_a_layer_import_each_other_in_no_circles():
    beside = {(a, b) for a, b in arrows() if height(a) == height(b)}
    assert in_circles(beside - CIRCLES) == set()
    assert CIRCLES - in_circles(beside) == set(), "exceptions that are none any more"


def test_folders_of_a_layer_import_each_other_in_no_circles():
    """As a folder's own file is loaded with each of its modules."""
    beside = {(a, b) for a, b in arrows() if height(a) == height(b)}
    folders = {(folder_of(a), folder_of(b)) for a, b in beside if folder_of(a) != folder_of(b)}
    # Circles of modules are another test's.
    folders -= CIRCLES
    assert in_circles(folders - FOLDER_CIRCLES) == set()
    assert FOLDER_CIRCLES - in_circles(folders) == set(), "exceptions that are none any more"


def test_the_package_loads_nothing_but_descriptions():
    statements = [node for node in TREES["robosim"].body if not isinstance(node, ast.If)]
    eager = imported(ast.Module(statements, []))
    assert {layer_of(module) for module in eager} <= EAGER


def test_importing_the_package_loads_no_more_than_that():
    listed = [sys.executable, "-c", "import sys, robosim; print(*sys.modules)"]
    loaded = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.split(".")[0] == "robosim"}
    assert {layer_of(name) for name in ours - {"robosim"}} == EAGER
    assert "numba" not in loaded


def test_names_that_the_package_loads_when_asked_are_those_that_the_type_checker_sees():
    (checked,) = (node for node in TREES["robosim"].body if isinstance(node, ast.If)
                  and ast.unparse(node.test) == "TYPE_CHECKING")  # fmt: skip
    seen = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == robosim._LAZY
    for name, module in robosim._LAZY.items():
        assert getattr(robosim, name) is getattr(sys.modules[module], name)
        # From where it is, not through a module that only passes it on.
        assert layer_of(module) != "documented"


def test_documented_modules_do_nothing_but_pass_on():
    for name in LAYERS["documented"]:
        *_, names = (body := TREES[f"robosim.{name}"].body)
        assert isinstance(names, ast.Assign)
        assert ast.unparse(names.targets[0]) == "__all__"
        assert all(isinstance(node, ast.Expr | ast.ImportFrom) for node in body[:-1])
        passed_on = {
            alias.name
            for node in body[:-1]
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        }
        assert passed_on == set(ast.literal_eval(names.value))
