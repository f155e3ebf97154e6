"""Controllers: PD, holding a pose, gaits, and from controls of actuators to joint torques."""
