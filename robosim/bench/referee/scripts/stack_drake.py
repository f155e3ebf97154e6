"""Five cubes stand on each other for 2 s, in Drake: how far the top sinks or wanders [m]."""

import json
import time

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    HalfSpace,
    ProximityProperties,
)
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

for setting, modulus in (("sap", 1e7), ("lagged", 1e7), ("lagged", 1e9)):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, discrete_contact_approximation=setting)
        config.contact_model = "hydroelastic"
        plant, _ = AddMultibodyPlant(config, builder)
        hard, soft = ProximityProperties(), ProximityProperties()
        AddRigidHydroelasticProperties(hard)
        AddCompliantHydroelasticProperties(0.02, modulus, soft)
        for material in (hard, soft):
            AddContactMaterial(friction=CoulombFriction(1, 1), properties=material)
        world, flat = plant.world_body(), RigidTransform()
        plant.RegisterCollisionGeometry(world, flat, HalfSpace(), "ground", hard)
        cubes = []
        for k in range(5):
            cubes += [
                plant.AddRigidBody(f"cube{k}", SpatialInertia.SolidBoxWithMass(1, 0.1, 0.1, 0.1))
            ]
            plant.RegisterCollisionGeometry(cubes[k], flat, Box(0.1, 0.1, 0.1), f"box{k}", soft)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        for k, cube in enumerate(cubes):
            plant.SetFreeBodyPose(own, cube, RigidTransform([0, 0, 0.05 + 0.1 * k]))
        simulator.Initialize()
        begin = time.process_time()
        simulator.AdvanceTo(2.0)
        cpu = time.process_time() - begin
        top = plant.EvalBodyPoseInWorld(own, cubes[-1]).translation()
        error, told = (
            float(np.linalg.norm(top - [0, 0, 0.45])),
            f"{setting}, modulus {modulus:g} Pa",
        )
        print(json.dumps({"setting": told, "timestep": h, "error": error, "cpu": cpu}))
