"""Derivatives of steps by state, torques and parameters."""
