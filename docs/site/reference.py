"""What the reference has: every public name, read from the sources and not from imports."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
# setuptools maps the siblings of robosim/ into the package.
BESIDE = ("loaders", "models", "viz")
# Modules that users import from, beside `robosim` itself, and what each is for is their docstring.
MODULES = (
    "actuators", "batch", "bodies", "cluster", "collision", "comparison", "conformance",
    "controllers", "conversions", "derivatives", "dynamics", "elements", "envs", "envs.sb3",
    "errors", "joints", "learning", "loaders", "log", "mechanism", "models", "models.builders",
    "muscles", "optimize", "overlaps", "parallel", "policies", "rays", "readout", "referee.audit",
    "sensors", "tendons", "viz", "viz.plots", "viz.watch",
)  # fmt: skip


def source_of(module: str) -> Path:
    """The file of a module of robosim, by its name without ``robosim.``; "" is the package."""
    parts = module.split(".") if module else []
    folder = ROOT if parts and parts[0] in BESIDE else ROOT / "robosim"
    path = folder.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def tree_of(module: str) -> ast.Module:
    """A module's syntax."""
    return ast.parse(source_of(module).read_text(encoding="utf-8"))


def public_names(module: str) -> list[str]:
    """Names of `__all__`, or of what the module defines, without those that begin with ``_``."""
    body = tree_of(module).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return [name for name in names if not name.startswith("_")]
    defined = (n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef))
    return [node.name for node in defined if not node.name.startswith("_")]


def summary(module: str) -> str:
    """The first sentence of a module's docstring."""
    return (ast.get_docstring(tree_of(module)) or "").split("\n\n")[0].replace("\n", " ")


def origins(module: str) -> dict[str, str]:
    """Where each name that a module imports from ours comes from, as ``robosim.module``."""
    return {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("robosim")
        for alias in node.names
    }


def page_of(name: str) -> str:
    """The page of a name of the package: errors share one."""
    return "errors" if name.endswith("Error") else name


def package_page(name: str) -> str:
    """The page of one name of `robosim`."""
    return f"# robosim.{name}\n\n::: robosim.{name}\n"


def module_page(module: str) -> str:
    """The page of a module; what `robosim` itself has is linked, not told twice."""
    own = set(public_names(""))
    text = [f"# robosim.{module}\n", f"{ast.get_docstring(tree_of(module)) or ''}\n"]
    elsewhere = [name for name in public_names(module) if name in own and module != "errors"]
    if elsewhere:
        links = ", ".join(f"[`{name}`]({page_of(name)}.md)" for name in elsewhere)
        text.append(f"Also in `robosim`: {links}.\n")
    rest = (name for name in public_names(module) if name not in elsewhere)
    text += [f"::: robosim.{module}.{name}\n" for name in rest]
    return "\n".join(text)


def index_page() -> str:
    """All modules with all of their names."""
    text = [
        "# Reference\n",
        "All public names, with their docstrings. Quaternions are scalar first (w, x, y, z), local "
        "to world; units are SI. See [conventions](../conventions.md) for more.\n",
        "| module | names |\n| --- | --- |",
    ]
    rows = [f"| `robosim` | {_linked('', public_names(''))} |"]
    for module in MODULES:
        told = _linked(module, public_names(module))
        rows.append(f"| [`robosim.{module}`]({module}.md)<br>{summary(module)} | {told} |")
    return "\n".join([*text, *rows, ""])


def _linked(module: str, names: list[str]) -> str:
    own = set(public_names(""))
    links = []
    for name in names:
        page = f"{page_of(name)}.md" if name in own else f"{module}.md#robosim.{module}.{name}"
        links.append(f"[`{name}`]({page})")
    return ", ".join(links)


def pages() -> dict[str, str]:
    """All pages of the reference, by their paths in the site."""
    found = {"reference/index.md": index_page()}
    for name in public_names(""):
        if page_of(name) == name:
            found[f"reference/{name}.md"] = package_page(name)
    for module in MODULES:
        found[f"reference/{module}.md"] = module_page(module)
    return found
