"""How many floats are side by side in lanes."""

WIDTH = 8  # two registers of four: with more to do for each instruction there is less overhead
LIMBS = 4  # a register of four
