"""A double pendulum swings for 60 s, in Drake: drift of its energy, over its range."""

import json
import time

from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig

SCENE = """<mujoco model="m"><default><geom type="capsule" size="0.02" mass="1" contype="0"
conaffinity="0"/><joint axis="0 1 0"/></default><worldbody><body name="a"><joint name="i"/><geom
fromto="0 0 0 0 0 -1"/><body name="b" pos="0 0 -1"><joint name="j"/><geom
fromto="0 0 0 0 0 -1"/></body></body></worldbody></mujoco>"""
RANGE = 2 * 9.81 * (0.5 + 1.5)  # [J], between both rods down and up
discrete = [("discrete", h, None) for h in (1e-2, 5e-3, 2e-3, 1e-3)]
continuous = [("RK3", 0.0, a) for a in (1e-3, 1e-5, 1e-7)]
for setting, h, accuracy in discrete + continuous:
    plant = MultibodyPlant(time_step=h)
    Parser(plant).AddModelsFromString(SCENE, "xml")
    plant.Finalize()
    simulator = Simulator(plant)
    if accuracy:
        config = SimulatorConfig(integration_scheme="runge_kutta3", accuracy=accuracy)
        ApplySimulatorConfig(config, simulator)
    own = simulator.get_mutable_context()
    plant.SetPositions(own, [1.5, 0.5])
    simulator.Initialize()
    first = plant.CalcPotentialEnergy(own)
    begin = time.process_time()
    simulator.AdvanceTo(60.0)
    cpu = time.process_time() - begin
    error = abs(plant.CalcPotentialEnergy(own) + plant.CalcKineticEnergy(own) - first) / RANGE
    step = {"accuracy": accuracy} if accuracy else {"timestep": h}
    print(json.dumps({"setting": setting, **step, "error": error, "cpu": cpu}))
