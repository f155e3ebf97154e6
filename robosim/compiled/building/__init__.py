"""Fills the records of a model from a description."""
