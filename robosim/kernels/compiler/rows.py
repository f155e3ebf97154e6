"""Rows of 6x6 blocks: six numbers that are read, added and scaled as one."""

from robosim.kernels.compiler.choice import PLAIN

if PLAIN:
    from robosim.kernels.compiler.plain_rows import (
        add_scaled,
        linear_part,
        read_row,
        row_of,
        scaled,
        shifted,
        sum_rows,
        write_row,
    )
else:
    from robosim.kernels.compiler.private_rows import (
        add_scaled,
        linear_part,
        read_row,
        row_of,
        scaled,
        shifted,
        sum_rows,
        write_row,
    )

__all__ = [
    "add_scaled",
    "linear_part",
    "read_row",
    "row_of",
    "scaled",
    "shifted",
    "sum_rows",
    "write_row",
]
