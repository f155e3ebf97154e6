"""Records of what pictures are drawn of."""

from __future__ import annotations

import numpy as np

PART = np.dtype(  # a shape, which several may have the triangles of
    [
        ("body", "i8"),  # nb for the world
        ("shape", "i8"),  # number among the shapes that are drawn
        ("shown", "i8"),  # 0: not drawn
        ("casts", "i8"),  # 1: a shadow
        ("closed", "i8"),  # 1: triangles that are seen from behind are hidden by others
        ("flat", "i8"),  # 1: each triangle has its own normal
        ("vertices", "i8", (2,)),  # from, to
        ("faces", "i8", (2,)),
        ("placed", "i8"),  # the first of its vertices among those that are placed
        ("rows", "f8", (2,)),  # of samples from which to which it is seen
        ("number", "i8"),  # that of its first triangle among those of all parts
        ("texture", "i8"),  # the first of the levels of its texture, or -1
        ("levels", "i8"),
        ("color", "f8", (3,)),  # linear
        ("opacity", "f8"),
        # From the part's axes, scaled, to those of the camera and to those of the light.
        ("to_camera", "f8", (3, 3)),
        ("from_camera", "f8", (3,)),
        ("to_light", "f8", (3, 3)),
        ("from_light", "f8", (3,)),
        ("to_normal", "f8", (3, 3)),  # turns normals into the camera's axes
    ]
)

TEXTURE = np.dtype([("first", "i8"), ("width", "i8"), ("height", "i8")])  # one level

VIEW = np.dtype(
    [
        # The camera looks along z; x leads to the right of the picture, and y down.
        ("focal", "f8"),  # [pixels]
        ("step", "f8"),  # 1 / focal
        ("middle", "f8", (2,)),  # of the picture [pixels]
        ("near", "f8"),  # nothing nearer is drawn [m]
        ("R", "f8", (3, 3)),  # camera to world
        ("eye", "f8", (3,)),
        ("ground", "i8"),  # 1: the ground is drawn
        ("floor", "f8"),  # height of the ground [m]
        ("tiles", "f8"),  # of a metre
        ("light_tile", "f8", (3,)),  # linear colours
        ("dark_tile", "f8", (3,)),
        ("haze", "f8", (3,)),  # at the horizon
        ("zenith", "f8", (3,)),
        ("fog_color", "f8", (3,)),  # the haze in sRGB
        # Where the fog begins [m], and the inverse of the way to where nothing else is seen.
        ("fog", "f8", (2,)),
        ("sun", "f8", (3,)),  # unit vector to the sun, in the camera's axes
        ("sun_color", "f8", (3,)),
        ("sky", "f8", (3,)),  # unit vector to where the sky's light comes from
        ("sky_color", "f8", (3,)),  # of light from there, and from the other side
        ("earth_color", "f8", (3,)),
        ("ground_light", "f8", (3,)),  # what lights the ground, without the sun
        ("ground_sun", "f8", (3,)),
        ("shadows", "i8"),
        ("shaded", "f8", (4,)),  # columns and rows of that map with shadows: first, last
        ("camera_to_light", "f8", (3, 3)),  # into pixels of the map of shadows; z towards the sun
        ("light_origin", "f8", (3,)),
        ("bias", "f8"),  # [m], by which what is lit lies above its own shadow
    ]
)
