"""How the equations of a step are solved: an interior point around Newton's method."""
