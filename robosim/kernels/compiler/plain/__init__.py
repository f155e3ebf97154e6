"""Modules for those of the same names one folder above, by what numba documents alone.

They are found under the names of the others (`robosim.kernels.compiler`), never under their own.
"""
