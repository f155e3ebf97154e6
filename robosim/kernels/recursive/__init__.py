"""Recursions over a tree in joint coordinates, O(n): for `robosim.Dynamics`.

World axes throughout. Twists, accelerations and wrenches of a link are about its reference point,
which is fixed in it where its joint holds it; so a hinge moves its link by (0, n), and passing on
a wrench from link to link takes one cross product. A joint enters by `place_link` and `move_link`
(and their derivatives by each velocity, `rate_columns`), and everything else goes over the columns
of its motion subspace S, (6, m): a joint of m velocities is m joints of one velocity in a row, the
last of which holds the link. The papers: [Featherstone1983] for the articulated-body inertia.
"""
