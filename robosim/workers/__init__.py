"""Implementation of `robosim.cluster.Workers`: chunks of items, on threads or in actors of Ray."""
