"""Inverse kinematics: targets, the search with its constraints, and the closing of loops."""
