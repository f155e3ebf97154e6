"""Equations of bodies, joints and tendons, and the algebra that they are written in."""
