"""Joint coordinates: poses, Jacobians and recursions over the tree, and prescribed motions."""
