"""How kernels are compiled, in the background if possible, and how Python calls them."""
