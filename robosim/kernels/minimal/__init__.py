"""Variational integrators in joint coordinates, in time proportional to the number of joints.

Links have one coordinate each, counted from where it is at the beginning of the step; a free
rotation is three hinges about the child's axes, centred anew for each step. World axes about a
point that stays over the step. Twists are (velocity, angular velocity), wrenches (force, moment),
of what is there of a link at that point.

`group` is the scheme of second order of [Lee2016], `galerkin` that of any even order of [Fan2018].
Both are a linear system over the tree, with the same elimination.
"""
