"""How kernels get compiled and called: in the background, told of, by handles."""
