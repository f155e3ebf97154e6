"""A loop of three rods swings for 10 s, in Drake: largest distance of its closing pin [m]."""

import json
import time

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

SCENE = """<mujoco model="m"><default><geom type="capsule" size="0.02" mass="1" contype="0"
conaffinity="0"/><joint axis="0 1 0"/></default><worldbody><body name="a"><joint name="i"/><geom
fromto="0 0 0 0 0 -0.5"/><body name="b" pos="0 0 -0.5"><joint name="j"/><geom
fromto="0 0 0 0.8 0 0"/><body name="c" pos="0.8 0 0"><joint name="k"/><geom
fromto="0 0 0 0 0 0.5"/></body></body></body></worldbody></mujoco>"""
TIP, END = np.array([0, 0, 0.5]), np.array([0.8, 0, 0])
for setting in ("sap", "lagged"):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, discrete_contact_approximation=setting)
        plant, _ = AddMultibodyPlant(config, builder)
        Parser(plant).AddModelsFromString(SCENE, "xml")
        last = plant.GetBodyByName("c")
        plant.AddBallConstraint(last, TIP, plant.world_body(), END)
        plant.Finalize()
        simulator, error = Simulator(builder.Build()), 0.0
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetVelocities(own, [2.0, -2.0, 2.0])
        simulator.Initialize()
        begin = time.process_time()
        for k in range(round(10 / h)):
            simulator.AdvanceTo((k + 1) * h)
            tip = plant.EvalBodyPoseInWorld(own, last) @ TIP
            error = max(error, float(np.linalg.norm(tip - END)))
        cpu = time.process_time() - begin
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
