"""Inequalities of a step: which are in the equations, how they move, and their friction."""
