"""What is wrong with a model, before any step: `diagnose`, and its `Diagnosis`."""

from __future__ import annotations

from robosim.referee.doctor.diagnosis import CHECKS, Check, Diagnosis, diagnose

__all__ = ["CHECKS", "Check", "Diagnosis", "diagnose"]
