"""Pictures of a robot and of its world, drawn by the processor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.drawing import Drawing, make_drawing
from robosim.description.camera import Camera
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.kernels.drawing import entries
from robosim.runtime.background import cores
from robosim.runtime.handles import Handle
from robosim.runtime.notice import CompileNotice
from robosim.runtime.threads import do_all
from robosim.validation import Array, check_choice, count, shaped
from robosim.viz.drawing.marks import Marks
from robosim.viz.drawing.parts import Gathered
from robosim.viz.drawing.view import (
    Extent,
    Following,
    Sight,
    extent_of,
    set_view,
    sight_of_page,
)
from robosim.viz.obstacles import drawn_obstacles, draws_ground, is_solid
from robosim.viz.scene import drawn_shapes

if TYPE_CHECKING:
    from robosim.formulation import Formulation

WHATS = ("rgb", "depth", "segmentation")
GEOMETRIES = ("visual", "collision")
MOST = 4096  # pixels along an edge
GHOSTS = ((0.13, 0.45, 0.85), (0.85, 0.35, 0.1), (0.2, 0.6, 0.3))
GHOST_OPACITY = 0.38
COARSE = 0.4  # pixels that an edge of the cells of a level may be seen as, seen from nearest
SMALL = 40_000  # pixels of a picture that a second thread does not make faster
BAND = 64  # fewest rows that a thread takes at a time


class Drawer:
    """Draws pictures of a robot in poses that are given.

    Pictures look as the viewer's page does: its camera, unless one is given, its light and ground.

    Parameters
    ----------
    robot : Mechanism
    width, height : int [pixels]
    geometry : "visual" or "collision"
        What is drawn of bodies. Those without visual shapes show their collision shapes.
    ground : bool
        Whether to draw the plane z = 0, if something may stand on it.
    forces : bool
        Whether to draw contact points and arrows of contact forces, as the page does.
    smooth : bool
        Whether a pixel is the mean of 2 x 2 samples where several surfaces meet in it.
    shadows : bool
    ghosts : int
        Translucent copies of the robot, whose poses follow those of its own bodies.
    hide : iterable of str
        Bodies, by their names or those of their frames, that are not drawn; also "world".
    threads : int or None
        Threads that share the rows of a picture; None: two, or one for a small picture.

    Raises
    ------
    OptionError
        For a size below 1 or above 4096 pixels, an unknown geometry, or fewer threads than one.
    ModelError
        For an unknown body.
    """

    def __init__(
        self,
        robot: Mechanism,
        width: int = 640,
        height: int = 480,
        *,
        geometry: str = "visual",
        ground: bool = True,
        forces: bool = False,
        smooth: bool = True,
        shadows: bool = True,
        ghosts: int = 0,
        hide: Iterable[str] = (),
        threads: int | None = None,
    ) -> None:
        check_choice("geometry", geometry, GEOMETRIES)
        self.robot, self.size = robot, (_pixels("width", width), _pixels("height", height))
        self._samples = 2 if smooth else 1
        large = self.size[0] * self.size[1] > SMALL
        few = min(2, cores()) if large else 1
        self._threads = few if threads is None else count("threads", threads)
        self._ground = ground and draws_ground(robot)
        self._solid, self._shadows = is_solid(robot), shadows
        self._copies = 1 + ghosts
        gathered = Gathered()
        self._gather(gathered, geometry, {_body(robot, name) for name in hide})
        self._seen: WeakSet[Camera] = WeakSet()  # cameras that are outside of all shapes
        self._marks = Marks(gathered, robot, forces, self._copies * len(robot.bodies))
        self._bodies = np.array(gathered.bodies, dtype=np.int64)
        self._positions = np.array(gathered.positions).reshape(-1, 3)
        self._turns = np.array(gathered.turns).reshape(-1, 3, 3)
        self._meshes, self._parts = gathered.meshes(), gathered.parts()
        self._bounds = _bounds(self._meshes.vertices, self._parts)
        self._cells, self._ranges = gathered.cells()
        self._made: dict[int, tuple[Handle, Drawing]] = {}
        self._extent: Extent | None = None
        self._following: Following | None = None
        self._time: float | None = None
        CompileNotice.install()

    def __repr__(self) -> str:
        width, height = self.size
        return f"<Drawer of {self.robot.name!r}: {width} x {height} pixels>"

    def _gather(self, gathered: Gathered, geometry: str, hidden: set[int]) -> None:
        """All shapes; names of those that segmentation tells, in their order."""
        robot, shapes = self.robot, list[tuple[str, str]]()
        nb = len(robot.bodies)

        def add(body: int, name: str, shape: Any) -> None:
            if (body if body < nb else -1) in hidden:
                return
            if shape.rgba[3] > 0 or geometry == "collision":
                gathered.add_shape(body, len(shapes), shape)
                shapes.append((name, shape.name or shape.kind))

        for k, body in enumerate(robot.bodies):
            chosen = drawn_shapes(body) if geometry == "visual" else body.collisions
            for shape in chosen:
                add(k, body.name, shape)
        fixed = robot.world_visuals if geometry == "visual" else ()
        for shape in (*fixed, *drawn_obstacles(robot)):
            add(self._copies * nb, "world", shape)
        for copy in range(1, self._copies):
            for k, body in enumerate(robot.bodies):
                for shape in drawn_shapes(body):
                    part = gathered.add_shape(copy * nb + k, -1, shape)
                    gathered.fade(part, GHOSTS[(copy - 1) % len(GHOSTS)], GHOST_OPACITY)
        self.shapes = tuple(shapes)

    def picture(
        self,
        sim: Formulation,
        camera: Camera | str | None = None,
        what: str = "rgb",
    ) -> NDArray[Any]:
        """A picture of the present state of a simulation.

        Parameters
        ----------
        sim : Simulation, or another formulation
        camera : Camera, name of one of the robot's, or None
            None: the page's camera, which follows the robot.
        what : "rgb", "depth" or "segmentation"

        Returns
        -------
        (height, width, 3) of uint8
            Colours, for "rgb".
        (height, width) of float32 [m]
            Distances along the direction of view, inf for the sky, for "depth".
        (height, width, 2) of int32
            For "segmentation": the index among `robot.bodies`, their number for the world, -1 for
            the sky; and the index among `Drawer.shapes`, -1 for the ground and for what is no
            shape.

        Raises
        ------
        OptionError
            For an unknown `what`, or a camera that lies inside of a shape.
        ModelError
            For an unknown camera.
        """
        state = sim.state
        forces: tuple[ArrayLike, ArrayLike] | None = None
        if self._marks.capacity:
            from robosim.viz.snapshot import snapshot

            shot = snapshot(sim)
            forces = shot["contact_positions"], shot["contact_forces"]
        return self.draw(state.x, state.q, camera, what, contacts=forces)

    def draw(
        self,
        x: ArrayLike,
        q: ArrayLike,
        camera: Camera | str | None = None,
        what: str = "rgb",
        *,
        contacts: tuple[ArrayLike, ArrayLike] | None = None,
        time: float | None = None,
    ) -> NDArray[Any]:
        """A picture of given poses, as of `picture`.

        Parameters
        ----------
        x : (nb, 3) [m], q : (nb, 4)
            Centres of mass of all bodies, world, and quaternions, body to world.
        camera, what
            As of `picture`.
        contacts : (positions (nc, 3) [m], forces (nc, 3) [N]) or None
        time : float [s] or None
            Time of the pose. The page's camera follows with a lag from one time to the next.

        Returns
        -------
        As of `picture`.

        Raises
        ------
        As of `picture`.
        """
        check_choice("what", what, WHATS)
        n = self._copies * len(self.robot.bodies)
        x, q = shaped("x", x, n, 3), shaped("q", q, n, 4)
        places = np.vstack((x, np.zeros(3)))
        R = np.concatenate((quaternions.rotation_matrix(q), np.eye(3)[None]))
        if self._extent is None:
            self._begin(places, R)
        assert self._extent is not None
        self._marks.place(self, places, R, contacts, self._extent.size)
        moved = self._moved(places, time)
        sight = self._sight(camera, places, R, moved)
        samples = self._samples if what == "rgb" else 1
        handle, on = self._memory(samples)
        self._set(on, sight, places, R, self._extent.center + moved, what)
        width, height = self.size
        self._prepare(handle, on, samples, what)
        if what == "rgb":
            return self._paint(handle, on, samples)
        depth = np.empty((height, width), dtype=np.float32)
        labels = np.empty((height, width, 2), dtype=np.int32)
        world = len(self.robot.bodies)
        entries.measure(handle.address, 0, height, world, depth, labels)
        return depth if what == "depth" else labels

    @property
    def vertices(self) -> NDArray[np.float32]:
        """Vertices (nv, 3) [m] of all shapes, in their axes."""
        return self._meshes.vertices

    def put(self, part: int, position: Array, axes: Array) -> None:
        """Show a part of the world at a position (3,) [m] with scaled axes (3, 3)."""
        self._positions[part], self._turns[part] = position, axes
        self._parts["shown"][part] = 1

    def hide(self, part: int) -> None:
        """Do not show a part."""
        self._parts["shown"][part] = 0

    def _begin(self, x: Array, R: Array) -> None:
        """Note how large the robot is in its first pose, which the page's camera shows."""
        nb = len(self.robot.bodies)
        own = (self._bodies < nb) & (self._parts["shape"] >= 0)
        if not own.any():
            lower, upper = x[:nb].min(axis=0), x[:nb].max(axis=0)
        else:
            places, turns = (one[own] for one in self._placed(x, R))
            center, half = (one[own] for one in self._bounds)
            middle = places + np.einsum("nij,nj->ni", turns, center)
            reach = np.einsum("nij,nj->ni", np.abs(turns), half)
            lower, upper = (middle - reach).min(axis=0), (middle + reach).max(axis=0)
        self._extent = extent_of(lower, upper, self._solid)
        self._following = Following(x[0])

    def _placed(self, x: Array, R: Array) -> tuple[Array, Array]:
        """Origins (n, 3) [m] and scaled axes (n, 3, 3) of all parts in the world."""
        on = R[self._bodies]
        places = x[self._bodies] + np.einsum("nij,nj->ni", on, self._positions)
        return places, on @ self._turns

    def _middles(self, parts: NDArray[np.void]) -> Array:
        """Middles (n, 3) [m] of all parts in the camera's axes."""
        return np.asarray(
            parts["from_camera"] + np.einsum("nij,nj->ni", parts["to_camera"], self._bounds[0])
        )

    def _moved(self, x: Array, time: float | None) -> Array:
        """How far the page's camera has moved; at once if no time is told."""
        assert self._following is not None
        assert self._extent is not None
        if not self.robot.floating_base:
            return np.zeros(3)
        passed = np.inf
        if time is not None:
            passed = 0.0 if self._time is None else max(time - self._time, 0.0)
            self._time = time
        return self._following.move(x[0], self._extent.size, passed)

    def _sight(self, camera: Camera | str | None, x: Array, R: Array, moved: Array) -> Sight:
        width, height = self.size
        assert self._extent is not None
        if camera is None:
            return sight_of_page(self._extent, self._ground, width / height, moved)
        if isinstance(camera, str):
            camera = self.robot.camera(camera)
        if not isinstance(camera, Camera):
            raise OptionError(f"camera must be a Camera or a name, not {camera!r}")
        body = camera.place.body
        at = -1 if body is None else self.robot.body_index(body)
        eye, axes = camera.pose(x[at], R[at])
        if camera not in self._seen:
            self._check_outside(camera, eye, x, R)
            self._seen.add(camera)
        return Sight(eye, axes * (1.0, -1.0, -1.0), camera.fov)

    def _check_outside(self, camera: Camera, eye: Array, x: Array, R: Array) -> None:
        """Refuse a camera that would see the inner side of a shape only."""
        places, turns = self._placed(x, R)
        own = np.flatnonzero(self._parts["shape"] >= 0)
        local = np.einsum("nji,nj->ni", turns[own], eye - places[own])
        near = np.all(np.abs(local - self._bounds[0][own]) <= self._bounds[1][own], axis=1)
        for part, point in zip(own[near], local[near], strict=True):
            (begin, end), (first, last) = self._ranges[part, 0]
            corners = self._meshes.vertices[begin:end][self._meshes.faces[first:last]]
            if winding(corners.astype(float), point) > 0.5:
                body, shape = self.shapes[int(self._parts["shape"][part])]
                name = f" '{camera.name}'" if camera.name else ""
                raise OptionError(
                    f"the camera{name} lies inside of shape '{shape}' of '{body}': move it, or "
                    f"leave the body out of the picture with hide='{body}'"
                )

    def _memory(self, samples: int) -> tuple[Handle, Drawing]:
        if samples not in self._made:
            width, height = self.size
            shadow = int(np.clip(2 ** np.ceil(np.log2(1.5 * max(width, height))), 128, 1024))
            shape, threads = (height, width), self._threads
            # Room for the finest level of each part, whatever a picture before has chosen.
            finest = self._ranges[:, 0]
            self._parts["vertices"], self._parts["faces"] = finest[:, 0], finest[:, 1]
            on = make_drawing(self._meshes, self._parts, shape, samples, shadow, threads)
            self._made[samples] = Handle(on), on
        return self._made[samples]

    def _set(self, on: Drawing, sight: Sight, x: Array, R: Array, center: Array, what: str) -> None:
        """The view, and where parts are for it."""
        assert self._extent is not None
        view, parts = on.views, on.parts
        shape = self.size[1], self.size[0]
        world, origin = set_view(view, sight, self._extent, shape, len(on.shadows), center)
        view["ground"], view["shadows"] = self._ground, self._shadows and what == "rgb"
        places, turns = self._placed(x, R)
        parts["to_camera"] = sight.R.T @ turns
        parts["from_camera"] = (places - sight.eye) @ sight.R
        parts["to_light"] = world @ turns
        parts["from_light"] = places @ world.T + origin
        self._choose_levels(parts, float(view["focal"][0]))
        parts["to_normal"] = parts["to_camera"] / np.sum(turns**2, axis=1, keepdims=True)

    def _choose_levels(self, parts: NDArray[np.void], focal: float) -> None:
        """Of each part the coarsest level that looks as the part itself does from here."""
        if self._cells.shape[1] == 1:
            return
        nearest = np.linalg.norm(self._middles(parts), axis=1) - np.linalg.norm(
            self._bounds[1], axis=1
        )
        pixels = self._cells * focal / np.maximum(nearest, 1e-9)[:, None]
        level = np.sum(pixels <= COARSE, axis=1) - 1
        chosen = self._ranges[np.arange(len(parts)), np.maximum(level, 0)]
        parts["vertices"], parts["faces"] = chosen[:, 0], chosen[:, 1]

    def _prepare(self, handle: Handle, on: Drawing, samples: int, what: str) -> None:
        """What is nearest to the camera at each sample, and nearest to the sun."""
        n, address = len(on.parts), handle.address
        on.nearness.fill(0.0)
        on.numbers.fill(-1)
        entries.place_parts(address, samples)
        rows = on.nearness.shape[0]
        jobs: list[Callable[[int], Any]] = []
        if what == "rgb" and self._shadows:
            on.shadows.fill(-np.inf)
            jobs.append(lambda _: entries.cast_shadows(address))
        # Depths and labels have all parts, also those that one sees through.
        everything = int(what != "rgb")
        jobs += [
            partial(_nearest, address, samples, n, first, last, everything)
            for first, last in self._bands(rows)
        ]
        self._do(jobs)

    def _paint(self, handle: Handle, on: Drawing, samples: int) -> NDArray[np.uint8]:
        width, height = self.size
        out = np.empty((height, width, 3), dtype=np.uint8)
        address = handle.address
        self._do(
            [
                partial(_paint, address, samples, first, last, out)
                for first, last in self._bands(height)
            ]
        )
        parts = on.parts
        pale = np.flatnonzero((parts["opacity"] < 1.0) & (parts["shown"] == 1))
        for k in pale[np.argsort(-self._middles(parts)[pale, 2])]:
            area = self._area(on, int(k), samples)
            if area is not None:
                rows = samples * area[0], samples * area[1]
                entries.find_nearest(address, 0, samples, k, k + 1, *rows, 1)
                entries.lay_over(address, 0, samples, *area, out)
        return out

    def _area(self, on: Drawing, k: int, samples: int) -> tuple[int, int, int, int] | None:
        """Rows and columns of pixels that a part may cover: first, behind the last."""
        part, (width, height) = on.parts[k], self.size
        begin = int(part["placed"])
        end = begin + int(part["vertices"][1] - part["vertices"][0])
        if np.any(on.placed[begin:end, 2] < on.views["near"][0]):
            return 0, height, 0, width
        seen = on.seen[begin:end, :2] / samples
        lower, upper = seen.min(axis=0) - 1, seen.max(axis=0) + 2
        left, right = np.clip((lower[0], upper[0]), 0, width).astype(int)
        first, last = np.clip((lower[1], upper[1]), 0, height).astype(int)
        return None if left >= right or first >= last else (first, last, left, right)

    def _bands(self, rows: int) -> Sequence[tuple[int, int]]:
        if self._threads == 1:
            return [(0, rows)]
        # Each band goes through all triangles, and some are left for a thread that is done early.
        band = max(BAND, rows // (4 * self._threads))
        edges = [*range(0, rows, band), rows]
        return list(itertools.pairwise(edges))

    def _do(self, jobs: Sequence[Callable[[int], Any]]) -> None:
        """Do jobs, each with the number of the thread that does it."""
        if self._threads == 1 or len(jobs) == 1:
            for job in jobs:
                job(0)
            return
        left = list(reversed(jobs))

        def work(thread: int) -> None:
            while left:
                try:
                    job = left.pop()
                except IndexError:
                    return
                job(thread)

        with ThreadPoolExecutor(self._threads) as pool:
            do_all(pool, [partial(work, t) for t in range(self._threads)])


def _nearest(
    address: int, samples: int, n: int, first: int, last: int, everything: int, thread: int
) -> None:
    entries.find_nearest(address, thread, samples, 0, n, first, last, 2 * everything)


def _paint(
    address: int, samples: int, first: int, last: int, out: NDArray[np.uint8], thread: int
) -> None:
    entries.paint(address, thread, samples, first, last, out)


def winding(corners: Array, point: Array) -> float:
    """How often triangles (n, 3, 3) go round a point (3,), by their solid angles [Oosterom1983]."""
    a, b, c = (corners[:, k] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(one, axis=1) for one in (a, b, c))
    volume = np.einsum("ni,ni->n", a, np.cross(b, c))
    below = la * lb * lc + np.sum(a * b, axis=1) * lc
    below += np.sum(b * c, axis=1) * la + np.sum(c * a, axis=1) * lb
    return abs(float(np.sum(np.arctan2(volume, below)))) / (2 * np.pi)


def _body(robot: Mechanism, name: str) -> int:
    """The index of a body that is hidden, -1 for the world."""
    return -1 if name == "world" else robot.body_index(name)


def drawer_of(
    sim: Formulation,
    width: int,
    height: int,
    geometry: str,
    forces: bool,
    hidden: tuple[str, ...],
) -> Drawer:
    """The drawer of a simulation for these options, which is made once."""
    known = _DRAWERS.setdefault(sim, {})
    key = width, height, geometry, forces, hidden
    if key not in known:
        known[key] = Drawer(sim.robot, width, height, geometry=geometry, forces=forces, hide=hidden)
    return known[key]


_DRAWERS: WeakKeyDictionary[Formulation, dict[Any, Drawer]] = WeakKeyDictionary()


def _bounds(vertices: NDArray[np.float32], parts: NDArray[np.void]) -> tuple[Array, Array]:
    """Middles and half edges (n, 3) of parts in their own axes."""
    lower, upper = np.zeros((len(parts), 3)), np.zeros((len(parts), 3))
    for k, (begin, end) in enumerate(parts["vertices"]):
        if end > begin:
            lower[k], upper[k] = vertices[begin:end].min(axis=0), vertices[begin:end].max(axis=0)
    return (lower + upper) / 2, (upper - lower) / 2


def _pixels(name: str, value: int) -> int:
    """A number of pixels, or an OptionError."""
    if not isinstance(value, int | np.integer) or not 1 <= value <= MOST:
        raise OptionError(f"{name} must be 1 to {MOST} pixels, not {value!r}")
    return int(value)
