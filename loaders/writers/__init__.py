"""Mechanisms to model files: URDF and MJCF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lxml import etree

from robosim.description.chains import is_of_hinges_and_slides
from robosim.description.mechanism import Mechanism
from robosim.description.touching import LEFT_OUT
from robosim.errors import SaveError
from robosim.loaders import carriers
from robosim.loaders.options import ASK_FOR_PAIRS
from robosim.loaders.srdf import SUFFIX, beside
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.mjcf import mjcf
from robosim.loaders.writers.mjcf.cuts import with_cuts
from robosim.loaders.writers.ordering import in_file_order
from robosim.loaders.writers.parts import Lost
from robosim.loaders.writers.srdf import srdf
from robosim.loaders.writers.urdf import urdf
from robosim.models import stances

SUFFIXES = (".urdf", ".xml")


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Write a mechanism as a URDF (.urdf) or MJCF (.xml) file.

    Meshes are written to a folder beside the file. Poses, joints without an actuator and excluded
    pairs, which URDF cannot express, are written to an SRDF file.

    Returns
    -------
    tuple of str
        A sentence for each kind of element that the format cannot express.

    Raises
    ------
    SaveError
        For another suffix, a joint that the format does not support, or a file that cannot be
        written. An existing file is replaced completely or not at all.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise SaveError(f"{file}: unknown kind of model file '{file.suffix}' (known: {known})")
    _refuse_charts(mechanism)
    if suffix == ".xml":
        mechanism = with_cuts(mechanism)
    mechanism = carriers.taken_apart(in_file_order(mechanism))
    lost = Lost()
    meshes = MeshFiles(file)
    semantics = None
    if suffix == ".xml":
        root = mjcf(mechanism, meshes, lost, stances.stance(mechanism))
    else:
        root = urdf(mechanism, meshes, lost)
        semantics = srdf(mechanism)
        other, _ = beside(file, mechanism.name)
        if semantics is None and other is not None:
            lost.add("that there is no SRDF file: this one will be read with it", str(other))
    try:
        meshes.write()
        _write(root, file)
        if semantics is not None:
            _write(semantics, file.with_name(file.name.partition(".")[0] + SUFFIX))
    except OSError as error:
        raise SaveError(f"{file}: cannot be written: {error.strerror or error}") from None
    return lost.sentences()


def _refuse_charts(mechanism: Mechanism) -> None:
    """Raise a SaveError for a chart in a loop, or with other parts than hinges and slides."""
    for joint in mechanism.joints:
        closes = joint in mechanism.loop_joints
        if joint.own_chart is not None and (closes or not is_of_hinges_and_slides(joint)):
            raise SaveError(
                f"joint '{joint.name}': neither URDF nor MJCF is written with a joint of kind "
                f"'{joint.kind}', which is {joint.own_chart!r}"
            )


def _write(root: etree._Element, file: Path) -> None:
    """Write a file, completely or not at all."""
    etree.indent(root)
    data = etree.tostring(root, xml_declaration=True, encoding="utf-8")
    scratch = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        scratch.write_bytes(data)
        scratch.replace(file)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def convert(
    source: str | os.PathLike[str], path: str | os.PathLike[str], **options: Any
) -> tuple[str, ...]:
    """Load a robot as `robosim.load` with these options, and `save` it to a file.

    Returns
    -------
    tuple of str
        As `save`, and the loader's warnings of pairs of bodies that no longer collide.
    """
    from robosim.loaders.sources import load

    mechanism = load(source, **options)
    of_pairs = ASK_FOR_PAIRS, LEFT_OUT
    gone = (told for told in mechanism.warnings if any(text in told for text in of_pairs))
    return (*save(mechanism, path), *gone)
