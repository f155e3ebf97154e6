"""The URDF of a mechanism as text, for files without a folder, such as logs."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from robosim import safe_xml
from robosim.description.mechanism import Mechanism
from robosim.errors import RobosimError
from robosim.loaders import carriers
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.parts import Lost
from robosim.loaders.writers.urdf import urdf


def urdf_text(mechanism: Mechanism, beside: Path) -> str:
    """The URDF file from which a mechanism was loaded, if it has all of its links; or a new one.

    Parameters
    ----------
    mechanism : Mechanism
    beside : Path
        A file; new meshes are written to the folder ``<stem>_meshes`` beside it.

    Raises
    ------
    SaveError
        For a joint that URDF does not have.
    OSError
        If the meshes cannot be written.
    """
    text = _source(mechanism)
    if text is not None:
        return text
    meshes = MeshFiles(beside.resolve())
    root = urdf(carriers.taken_apart(mechanism), meshes, Lost())
    folder = beside.resolve().parent.as_uri()
    for mesh in root.iter("mesh"):
        mesh.set("filename", f"{folder}/{mesh.get('filename')}")
    meshes.write()
    etree.indent(root)
    return str(etree.tostring(root, encoding="unicode"))


def _source(mechanism: Mechanism) -> str | None:
    """The text of the mechanism's URDF file, if it contains all links."""
    if mechanism.source is None or Path(mechanism.source).suffix.lower() != ".urdf":
        return None
    path = Path(mechanism.source)
    try:
        data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
        root = safe_xml.parse_model(data, path, [])
    except (OSError, RobosimError):
        return None  # no longer exists
    links = {link.get("name") for link in root.iter("link")}
    ours = {frame.name for body in mechanism.bodies for frame in body.frames}
    return data.decode("utf-8", errors="replace") if ours <= links else None
