"""The same robot, start and controls in several simulators, and which of them is wrong."""
