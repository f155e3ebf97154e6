"""A mechanism as flat arrays: what kernels read and write, and what fills it from a description.

`model` is what does not change while a robot moves, `state` what a step starts from, `workspace`
the scratch memory of a step. Their entries are the records of `records`, and `building` writes
those of a model. Nothing here knows the kernels.
"""
