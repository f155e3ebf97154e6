"""Springs, couplings and potentials; strands, nets and elastic solids of particles."""

from __future__ import annotations

from robosim.description.soft import Soft, SoftMesh
from robosim.description.springs import Coupling, PointSpring, Potential
from robosim.description.strands import Net, Strand

__all__ = ["Coupling", "Net", "PointSpring", "Potential", "Soft", "SoftMesh", "Strand"]
