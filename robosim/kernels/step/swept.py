"""What the bodies of an island sweep, for finding islands that come near each other."""

from robosim.kernels.compiler.jit import kernel


@kernel
def widen_swept(bodies, swept):
    """What balls around bodies sweep from the last knot to this one, and half as far beyond."""
    for i in range(swept.shape[0]):
        box, x = swept[i], bodies[i].x
        if box.radius < 0.0:
            continue
        for k in range(3):
            beyond = box.radius + 0.5 * abs(x[k] - box.x[k])
            box.lower[k] = min(box.lower[k], min(x[k], box.x[k]) - beyond)
            box.upper[k] = max(box.upper[k], max(x[k], box.x[k]) + beyond)
            box.x[k] = x[k]
