"""Motors and their control law, for each actuated coordinate of several states."""
