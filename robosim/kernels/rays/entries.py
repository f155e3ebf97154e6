"""What Python calls: rays of many states at once.

The address leads to a `Casting` (`robosim.compiled.rays`).
"""

from math import inf, nan, sqrt

from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.known import load_casting
from robosim.kernels.equations.vectors import row_of
from robosim.kernels.rays.scene import find_world_normal, meet_scene, place_shapes
from robosim.kernels.rays.triangles import aim


@kernel
def set_origin(ray, origin):
    """Whether an origin is finite."""
    rest = 0.0
    for k in range(3):
        ray.o[k] = origin[k]
        rest += 0.0 * origin[k]
    return rest == 0.0


@kernel
def set_direction(ray, direction):
    """Whether a direction is finite and not zero; that of the ray is then a unit vector."""
    most, rest = 0.0, 0.0
    for k in range(3):
        most = max(most, abs(direction[k]))
        rest += 0.0 * direction[k]
    if not (rest == 0.0 and most > 0.0):
        return False
    x, y, z = direction[0] / most, direction[1] / most, direction[2] / most
    scale = 1.0 / sqrt(x * x + y * y + z * z)
    ray.d[0], ray.d[1], ray.d[2] = scale * x, scale * y, scale * z
    aim(ray)
    return True


@entry
def cast_rays(
    address, x, q, origins, directions, limit, states, rays, distance, body, geometry, point, normal
):
    """Cast rays `rays[0]` to `rays[1]` of states `states[0]` to `states[1]`.

    Parameters
    ----------
    x, q : (s, nb, 3) and (s, nb, 4), poses of the bodies
    origins, directions : (s or 1, n or 1, 3)
    limit : farther shapes count as none
    distance, body, geometry : (s, n), results; inf, -1 and -1 where there is nothing
    point, normal : (s, n, 3), results; nan where there is nothing

    Returns
    -------
    -1, or the first ray that is none, counted through all states
    """
    on = load_casting(address)
    ray, local = on.rays[0], on.rays[1]
    for s in range(states[0], states[1]):
        place_shapes(on, x[s], q[s])
        starts, ways = origins[row_of(origins, s)], directions[row_of(directions, s)]
        for n in range(rays[0], rays[1]):
            is_ray = set_origin(ray, starts[row_of(starts, n)])
            if n == rays[0] or ways.shape[0] > 1:
                is_ray = set_direction(ray, ways[row_of(ways, n)]) and is_ray
            if not is_ray:
                return s * distance.shape[1] + n
            t, shape, triangle = meet_scene(on, ray, local, limit)
            geometry[s, n] = shape
            if shape < 0:
                distance[s, n], body[s, n] = inf, -1
                for k in range(3):
                    point[s, n, k], normal[s, n, k] = nan, nan
                continue
            distance[s, n], body[s, n] = t, on.targets.shapes[shape].body
            for k in range(3):
                point[s, n, k] = ray.o[k] + t * ray.d[k]
            find_world_normal(on, shape, triangle, ray, local, t, normal[s, n])
    return -1
