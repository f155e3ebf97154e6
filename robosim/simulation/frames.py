"""Poses and velocities of a simulated robot's frames, and wrenches on them, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.body import Frame
from robosim.description.camera import Camera
from robosim.description.mechanism import Mechanism
from robosim.rays.hits import Hits
from robosim.simulation.loads import Held, wrench_about
from robosim.validation import Array


class Frames:
    """Frames at the knot of a simulation, in any formulation."""

    robot: Mechanism
    held: Held
    state: Any

    def frame(self, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame at the knot.

        Parameters
        ----------
        name : str
            Name of a link, also of a merged one, or of a site; also if it is fixed to the world.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        index, frame = self._frame(name)
        p, R = np.asarray(frame.position), quaternions.rotation_matrix(np.asarray(frame.quaternion))
        if index is None:
            return p.copy(), R
        R_wb = quaternions.rotation_matrix(self.state.q[index])
        return self.state.x[index] + R_wb @ p, R_wb @ R

    def frame_velocity(self, name: str) -> Array:
        """Twist (6,) of a frame at the knot: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        index, frame = self._frame(name)
        if index is None:
            return np.zeros(6)
        R = quaternions.rotation_matrix(self.state.q[index])
        omega = R @ self.state.omega[index]
        arm = R @ np.asarray(frame.position)
        return np.concatenate((self.state.v[index] + np.cross(omega, arm), omega))

    def apply_wrench(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None:
        """Apply a wrench to a body, until the next wrench on the same body or the next start.

        Parameters
        ----------
        body : str
            Or another frame, such as a link that was merged into a body: the wrench acts on the
            body of the frame. Each body has one wrench, the last one.
        force : (3,) [N], world axes
        torque : (3,) [N m], world axes
        point : (3,) [m] or None
            Point of application at the time of the call, world coordinates; if None, the body's
            centre of mass, or the frame's origin. The wrench on the body is then constant in world
            axes, for any motion of the body.

        Raises
        ------
        ModelError
            If there is no such body or frame.
        StateError
            For a wrong shape or a value that is not finite.
        """
        (index, frame), state = self.robot.body_or_frame(body), self.state
        x = state.x[index]
        if point is None:
            point = x + quaternions.rotation_matrix(state.q[index]) @ np.asarray(frame.position)
        self.held.loads.external["w"][index] = wrench_about(x, force, torque, point)

    def cast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        geometry: str = "collision",
        max_distance: float = np.inf,
        exclude: str | Iterable[str] = (),
        threads: int = 1,
    ) -> Hits:
        """Where rays first meet a surface at the knot; see `robosim.rays.Scene`.

        Parameters
        ----------
        origins, directions : (n, 3) or (3,) [m], world
            Directions of any length but zero. One origin or direction serves for all rays.
        geometry : "collision" or "visual"
            Collision shapes, or what one sees.
        max_distance : float [m]
            Surfaces that are not nearer count as none.
        exclude : str or iterable of str
            Bodies, by their names or those of their frames, that rays pass; also "world".
        threads : int
            Threads that share the rays.

        Returns
        -------
        Hits
            Of arrays (n,) and (n, 3), without the first axis if both arguments are (3,).

        Raises
        ------
        StateError, OptionError, ModelError
            As `robosim.rays.Scene` and its `cast`.
        """
        from robosim.rays.casting import cast_from  # compiled, and imported on first use

        poses = self.state.x, self.state.q
        rays, options = (origins, directions), (max_distance, exclude, threads)
        return cast_from(self.robot, geometry, poses, rays, *options)

    def render(
        self,
        camera: Camera | str | None = None,
        width: int = 640,
        height: int = 480,
        what: str = "rgb",
        *,
        geometry: str = "visual",
        forces: bool = False,
        hide: str | Iterable[str] = (),
    ) -> NDArray[Any]:
        """A picture at the knot, drawn by the processor, without a browser or a display.

        Parameters
        ----------
        camera : Camera, name of one of ``robot.cameras``, or None
            None: the camera of the viewer's page, which follows the robot.
        width, height : int [pixels]
        what : "rgb", "depth" or "segmentation"
        geometry : "visual" or "collision"
            What is drawn of bodies.
        forces : bool
            Whether to draw contact points and arrows of contact forces.
        hide : str or iterable of str
            Bodies, by their names or those of their frames, that are not drawn; also "world".

        Returns
        -------
        (height, width, 3) of uint8
            Colours in sRGB, for "rgb".
        (height, width) of float32 [m]
            Distances along the direction of view, inf for the sky, for "depth".
        (height, width, 2) of int32
            For "segmentation": the index among ``robot.bodies``, their number for the world, -1
            for the sky; and the index of the shape, of `robosim.viz.drawing.Drawer.shapes`.

        Raises
        ------
        OptionError
            For an unknown choice, a size below 1 or above 4096 pixels, or a camera inside of a
            shape.
        ModelError
            For an unknown camera or body.
        """
        from robosim.viz.drawing import drawer_of  # compiled, and imported on first use

        hidden = (hide,) if isinstance(hide, str) else tuple(hide)
        sim: Any = self  # a whole simulation, of which this is a part
        drawer = drawer_of(sim, width, height, geometry, forces, hidden)
        return drawer.picture(sim, camera, what)

    def _frame(self, name: str) -> tuple[int | None, Frame]:
        """The body, None for the world, and its frame."""
        for frame in self.robot.world_frames:
            if frame.name == name:
                return None, frame
        return self.robot.frame(name)
