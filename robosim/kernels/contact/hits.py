"""Which contacts impacts are asked of."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.contact.kinematics import on_joint
from robosim.kernels.contact.turning import is_companion


@kernel
def may_be_hit(contact):
    """Whether this is a contact of bodies; what resists turning there has no part in impacts."""
    return not (on_joint(contact) or is_companion(contact))


@kernel
def is_closed(contact, c):
    """Whether a contact pushes rather than is open."""
    return c.gamma > contact.mass * c.s
