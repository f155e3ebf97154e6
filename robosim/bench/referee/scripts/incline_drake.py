"""A cube lies on an incline 1 degree below its angle of friction, in Drake: creep in 5 s [m]."""

import itertools
import json
import math
import time

import numpy as np
from pydrake.geometry import HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

RUBS, R, ANGLE = CoulombFriction(0.5, 0.5), 1e-4, math.atan(0.5) - math.radians(1)
for setting in ("sap", "lagged"):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, discrete_contact_approximation=setting)
        plant, _ = AddMultibodyPlant(config, builder)
        gravity = 9.81 * np.array([math.sin(ANGLE), 0, -math.cos(ANGLE)])
        plant.mutable_gravity_field().set_gravity_vector(gravity)
        cube = plant.AddRigidBody("cube", SpatialInertia.SolidBoxWithMass(1, 0.1, 0.1, 0.1))
        for at in itertools.product((-1, 1), repeat=3):  # corners: a box has a single contact
            place = RigidTransform((0.05 - R) * np.array(at))
            plant.RegisterCollisionGeometry(cube, place, Sphere(R), f"c{at}", RUBS)
        world, flat = plant.world_body(), RigidTransform()
        plant.RegisterCollisionGeometry(world, flat, HalfSpace(), "ground", RUBS)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetFreeBodyPose(own, cube, RigidTransform([0, 0, 0.0499951]))  # at rest on springs
        simulator.Initialize()
        begin = time.process_time()
        simulator.AdvanceTo(5.0)
        cpu = time.process_time() - begin
        error = float(np.linalg.norm(plant.EvalBodyPoseInWorld(own, cube).translation()[:2]))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
