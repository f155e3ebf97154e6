"""What `robosim.cluster.Workers` are made of: benches, on threads or in the actors of Ray."""
