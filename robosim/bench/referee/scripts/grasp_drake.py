"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in Drake: how far it sinks [m]."""

import json
import time

from pydrake.geometry import DefaultProximityProperties, SceneGraphConfig
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

FINGER = """<body name="{n}" pos="{x} 0 0"><joint name="{n}" type="slide" axis="1 0 0"
damping="10"/><geom type="box" size="0.02 0.05 0.05" mass="0.2" friction="0.8"/></body>"""
SCENE = """<mujoco model="m"><worldbody>{fingers}<body name="cube"><freejoint/><geom type="box"
size="0.05 0.05 0.05" mass="1" friction="0.8"/></body></worldbody><actuator><motor name="a"
joint="a"/><motor name="b" joint="b"/></actuator></mujoco>"""
text = SCENE.format(fingers=FINGER.format(x=-0.07, n="a") + FINGER.format(x=0.07, n="b"))
compliant = DefaultProximityProperties(compliance_type="compliant")
for setting in ("sap", "lagged"):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, discrete_contact_approximation=setting)
        scene = SceneGraphConfig(default_proximity_properties=compliant)
        plant, _ = AddMultibodyPlant(config, scene, builder)
        Parser(plant).AddModelsFromString(text, "xml")
        plant.Finalize()
        simulator = Simulator(builder.Build())
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.get_actuation_input_port().FixValue(own, [20.0, -20.0])
        simulator.Initialize()
        begin = time.process_time()
        simulator.AdvanceTo(5.0)
        cpu = time.process_time() - begin
        cube = plant.GetBodyByName("cube")
        error = abs(plant.EvalBodyPoseInWorld(own, cube).translation()[2])
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
