"""Checks of models and of runs: what in a behaviour is the model's, and what the simulator's."""
