"""What takes part in impacts: contacts of bodies, and limits of joints with restitution."""

from robosim.compiled.kinds import CONE, LIMIT, TURN
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import somewhere
from robosim.kernels.contact.kinematics import on_joint
from robosim.kernels.contact.turning import is_companion


@kernel
def may_be_hit(contact):
    """Whether this is a contact of bodies; what resists turning there has no part in impacts."""
    return not (on_joint(contact) or is_companion(contact))


@kernel
def is_stop(contact):
    """Whether this is a limit of a joint's coordinates, not of their rates."""
    return contact.kind == LIMIT or contact.kind == CONE or contact.kind == TURN


@kernel
def takes_part(contact, e):
    """Whether an impact may act at this contact, or at a limit with restitution e."""
    return may_be_hit(contact) or (is_stop(contact) and somewhere(e > 0.0))


@kernel
def is_closed(contact, c):
    """Whether a contact pushes rather than is open."""
    return c.gamma > contact.mass * c.s
