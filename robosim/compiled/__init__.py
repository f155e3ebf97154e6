"""A mechanism as flat arrays, which kernels read and write.

`model` has the parameters, which do not change while a robot moves, `state` the start of a step,
and `workspace` the scratch memory of a step. Their entries are the records of `records`. `building`
fills the records of a model from a description. No module of this package imports kernels.
"""
