"""Records of elastic elements: tetrahedra between points of bodies."""

from __future__ import annotations

import numpy as np

ELEMENT = np.dtype(
    [
        ("body", "i8", (4,)),  # of each node; nb for the world
        ("block", "i8", (4, 4)),  # of a pair of their bodies, -1 with the world
        ("arms", "i8"),  # 1 if a node is not at the centre of mass of its body
        ("p", "f8", (4, 3)),  # nodes in body axes from the centre of mass
        ("g", "f8", (4, 3)),  # gradients of the shape functions at rest [1/m]
        ("volume", "f8"),  # at rest
        ("mu", "f8"),  # moduli of the energy, and its alpha
        ("lam", "f8"),
        ("alpha", "f8"),
        ("ease", "f8"),  # density over the sum of g^2: curvature that masses can make up for
    ]
)

ELEMENT_WORK = np.dtype(
    [
        ("r1", "f8", (4, 3)),  # arms of the nodes at either knot
        ("r2", "f8", (4, 3)),
        ("x", "f8", (4, 3)),  # means of their places, from that of the first
        ("F", "f8", (3, 3)),
        ("C", "f8", (3, 3)),  # its cofactors
        ("J", "f8"),
        ("once", "f8"),  # 1 / (|F|^2 + 1)
        ("shear", "f8"),  # `shear` and `press` are the factors of F and C in the stress [Pa]
        ("press", "f8"),
        ("half", "f8"),  # dt / 2
        ("h", "f8", (4, 3)),  # F g and C g
        ("c", "f8", (4, 3)),
        ("f", "f8", (4, 3)),  # impulses on the nodes at either knot
        ("K", "f8", (12, 12)),
        ("S", "f8", (3, 3)),
        ("y", "f8", (3,)),
        ("z", "f8", (3,)),
    ]
)
