"""Rays against shapes: closed forms, trees of triangles, height fields, and a tree of all shapes.

Distances are along unit vectors. The one that is returned is that of the first point of a surface
at or beyond the origin, from outside or from within, and inf if there is none.
"""
