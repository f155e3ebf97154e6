"""How kernels are compiled, and all that rests on numba's internals.

A new version of numba may take away what the modules of this folder import. Those in `plain/` then
stand for the ones of the same names here. They use nothing of numba but what it documents: kernels
are slower, differ in their last digits, and take no steps in lanes or with derivatives.
"""

import os
import sys
import warnings
from importlib import import_module
from pathlib import Path

SWITCH = "ROBOSIM_PLAIN_NUMBA"
# Each has another of its name in `plain/`.
PRIVATE = "duals", "events", "jit", "lanes", "parts", "rows"


def is_plain() -> bool:
    """Whether plain numba was asked for, or is all that works."""
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        return True
    import_module("numba")  # where there is none at all, that is the error
    try:
        for name in PRIVATE:
            import_module(f"{__name__}.{name}")
    except (ImportError, AttributeError) as error:
        for name in [name for name in sys.modules if name.startswith(f"{__name__}.")]:
            del sys.modules[name]
            globals().pop(name.rpartition(".")[2], None)
        warnings.warn(
            f"robosim's kernels are compiled by plain numba, and are slower, as this version of "
            f"numba is another one than robosim was made for ({error}); {SWITCH}=1 accepts that",
            RuntimeWarning,
            stacklevel=2,
        )
        return True
    return False


PLAIN = is_plain()
if PLAIN:
    __path__.insert(0, str(Path(__file__).parent / "plain"))
