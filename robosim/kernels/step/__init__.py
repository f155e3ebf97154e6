"""A step, stage by stage, and many of them in one call."""
