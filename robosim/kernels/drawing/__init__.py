"""Pictures: triangles into pixels, and the light on them.

A part is a shape with its triangles, and a view is a camera with the light of a picture
(`robosim.compiled.records.drawing`). Triangles of all parts are numbered through. For each sample
of a picture the nearest one is found first, and then what is seen of it is lit.
"""
