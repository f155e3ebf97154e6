"""Whether kernels are compiled with what is private in numba, or with its public names alone.

The modules `private_*` are what robosim's speed rests on, and a new version of numba may take from
them what they import. The modules `plain_*` do the same with public names only: slower, with other
last digits, and without lanes. They are chosen where the others cannot be imported, or by hand.
"""

import os
import warnings
from importlib import import_module

SWITCH = "ROBOSIM_PLAIN_NUMBA"
PRIVATE = "private_jit", "private_lanes", "private_rows"


def is_plain() -> bool:
    """Whether plain numba was asked for, or is all that there is."""
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        return True
    try:
        for name in PRIVATE:
            import_module(f"{__package__}.{name}")
    except (ImportError, AttributeError) as error:
        warnings.warn(
            f"robosim's kernels are compiled with plain numba, and are slower: {error}. "
            f"Install a version of numba that robosim names, or set {SWITCH}=1 to accept it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return True
    return False


PLAIN = is_plain()
