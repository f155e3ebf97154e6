"""Compiled kernels: one per equation, flat record arrays in, `out` last, no allocation."""
