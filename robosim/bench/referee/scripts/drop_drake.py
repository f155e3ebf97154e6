"""A cube falls 0.4 m onto its side, in Drake: deepest penetration [m]."""

import itertools
import json
import time

import numpy as np
from pydrake.geometry import HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

RUBS, R = CoulombFriction(0.5, 0.5), 1e-4
for setting in ("sap", "lagged"):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, discrete_contact_approximation=setting)
        plant, _ = AddMultibodyPlant(config, builder)
        cube = plant.AddRigidBody("cube", SpatialInertia.SolidBoxWithMass(1, 0.5, 0.5, 0.5))
        for at in itertools.product((-1, 1), repeat=3):  # corners: a box has a single contact
            place = RigidTransform((0.25 - R) * np.array(at))
            plant.RegisterCollisionGeometry(cube, place, Sphere(R), f"c{at}", RUBS)
        world, flat = plant.world_body(), RigidTransform()
        plant.RegisterCollisionGeometry(world, flat, HalfSpace(), "ground", RUBS)
        plant.Finalize()
        simulator, lowest = Simulator(builder.Build()), 1.0
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetFreeBodyPose(own, cube, RigidTransform([0, 0, 0.65]))
        simulator.Initialize()
        begin = time.process_time()
        for k in range(round(1 / h)):
            simulator.AdvanceTo((k + 1) * h)
            lowest = min(lowest, plant.EvalBodyPoseInWorld(own, cube).translation()[2])
        cpu = time.process_time() - begin
        error = max(0.0, 0.25 - lowest)
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
