"""Actuators of model files, and the torques of their controls."""

from __future__ import annotations

from robosim.description.actuator import Actuator
from robosim.simulation.transmission import Drive, Transmission, torques

__all__ = ["Actuator", "Drive", "Transmission", "torques"]
