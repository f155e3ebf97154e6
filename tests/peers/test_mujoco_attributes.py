"""Every attribute of MJCF that acts in MuJoCo changes what is loaded, or is told.

A model with one element of each kind, and what is added to one of them: where MuJoCo's compiled
model changes in what acts, so do the mechanism or its warnings.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import robosim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

MODEL = """<mujoco><compiler angle="degree" {compiler}/><option {option}><flag {flag}/></option>
<default><geom {dgeom}/><joint {djoint}/></default>
<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 .3 .3 1.2" {mesh}/>
<hfield name="hf" nrow="3" ncol="3" size="1 1 .3 .1" elevation="0 1 0 0 2 0 1 0 3"/></asset>
<worldbody><site name="w" pos=".1 .2 1.5"/>
<geom name="floor" type="plane" size="5 5 .1" pos="0 0 -3" {plane}/>
<geom type="hfield" hfield="hf" pos="9 9 0"/>
<body name="a" pos="0 0 1" {body}>
<inertial pos=".01 0 0" mass="2" diaginertia=".1 .2 .25" {inertial}/>
<joint name="j" axis="0 1 0" {joint}/><geom name="ga" size=".1 .1 .1" type="capsule"/>
<site name="s" pos=".2 0 .1" {site}/>
 <body name="b" pos=".5 0 .1"><joint name="k" axis="0 1 0"/>
<geom name="g" type="box" size=".1 .2 .15" {geom}/><site name="s2" pos="0 .2 .1"/>
  <body name="c" pos=".3 0 0"><joint name="sl" type="slide" axis="1 0 0" {slide}/>
<geom name="gc" size=".1" {geomc}/><geom name="mg" type="mesh" mesh="m" {meshgeom}/></body>
</body></body>
<body name="f" pos="3 0 1" {fbody}><freejoint {freejoint}/>
<geom name="gf" size=".1 .2 .3" type="box"/><frame pos=".1 0 0" {frame}><geom size=".05"/>
</frame></body>
<body name="bb" pos="5 0 1"><joint name="ball" type="ball" {ball}/>
<geom name="gb" type="box" size=".1 .2 .3"/></body>
<replicate count="2" offset="1 0 0" {replicate}><body name="r" pos="0 5 0"><joint/>
<geom size=".1"/></body></replicate></worldbody>
<contact><pair geom1="gf" geom2="gb" {pair}/><exclude body1="a" body2="c"/></contact>
<tendon><fixed name="t" {fixed}><joint joint="j" coef="1.5"/><joint joint="sl" coef="-2"/>
</fixed><spatial name="sp" stiffness="3" {spatial}><site site="w"/><geom geom="gc" {wrap}/>
<site site="s2"/><pulley divisor="2"/><site site="s"/><site site="w"/></spatial></tendon>
<equality><connect body1="b" body2="f" anchor=".1 .2 .3" {connect}/>
<weld body1="bb" body2="f" {weld}/><joint joint1="j" joint2="k" {eqjoint}/>
<tendon tendon1="t" {eqtendon}/></equality>
<actuator><motor name="mo" joint="j" {motor}/><position name="po" joint="k" {position}/>
<velocity name="ve" joint="sl" {velocity}/><general name="ge" tendon="t" {general}/>
<cylinder name="cy" joint="j" {cylinder}/>
<muscle name="mu" tendon="sp" lengthrange=".1 5" {muscle}/>
<intvelocity name="iv" joint="k" actrange="-1 1" {intvelocity}/>
<damper name="da" joint="j" ctrlrange="0 1" {damper}/></actuator>
<sensor><jointpos joint="j" {sensor}/><framepos objtype="site" objname="s" {framepos}/></sensor>
<keyframe><key name="q" {key}/></keyframe></mujoco>"""
# Which element gets what.
ROWS = {
    "compiler": [
        'boundmass="3"', 'boundinertia=".5"', 'inertiafromgeom="true"', 'alignfree="true"',
    ],
    "option": [
        'timestep=".01"', 'gravity="0 0 -1"', 'density="1"', 'viscosity="1"', 'wind="1 0 0"',
        'actuatorgroupdisable="1"',
    ],
    "flag": [
        'contact="disable"', 'constraint="disable"', 'equality="disable"', 'gravity="disable"',
        'spring="disable"', 'clampctrl="disable"', 'filterparent="disable"',
        'actuation="disable"', 'sensor="disable"', 'override="enable"',
    ],
    "dgeom": [
        'friction=".3"', 'contype="2"', 'density="500"', 'mass=".7"',
    ],
    "djoint": [
        'damping="1"', 'armature=".1"',
    ],
    "mesh": [
        'scale="2 1 1"', 'scale="-1 1 1"', 'refpos="1 0 0"', 'refquat="1 1 0 0"',
        'inertia="shell"', 'face="0 2 1 0 1 3 1 2 3 0 3 2"', 'maxhullvert="4"',
    ],
    "body": [
        'gravcomp="1"', 'euler="10 20 30"', 'quat="1 1 0 0"', 'axisangle="0 0 1 30"',
        'xyaxes="0 1 0 -1 0 0"', 'zaxis="1 0 1"',
    ],
    "fbody": [
        'gravcomp=".5"',
    ],
    "inertial": [
        'quat="1 1 0 0"', 'euler="10 0 0"',
    ],
    "joint": [
        'pos="0 0 .1"', 'range="-30 40"', 'limited="true" range="-3 4"', 'ref="10"',
        'springref="10" stiffness="1"', 'springref="10"', 'stiffness="2"', 'stiffness="2 1"',
        'damping="2"', 'damping="2 .1"', 'armature=".2"', 'frictionloss=".3"',
        'springdamper=".1 1"', 'actuatorfrcrange="-1 2"',
        'actuatorfrclimited="true" actuatorfrcrange="-1 2"', 'actuatorgravcomp="true"',
        'springyield="1"', 'type="slide"',
        'type="slide" ref=".2" springref=".1" stiffness="4" range="-1 1"',
    ],
    "slide": [
        'range="-1 1"', 'ref=".2"', 'springref=".3" stiffness="2"', 'springdamper=".1 .5"',
        'springdamper=".1 1" stiffness="3"', 'springdamper=".1 1" damping="3"',
    ],
    "freejoint": [
        'align="true"',
    ],
    "ball": [
        'range="0 40"', 'limited="true" range="0 40"', 'stiffness="2"', 'damping="2"',
        'armature=".1"', 'frictionloss=".1"', 'springdamper=".1 1"', 'pos="0 0 .1"',
        'springyield="1"',
    ],
    "geom": [
        'pos="0 0 .1"', 'euler="10 0 0"', 'mesh="m"', 'mesh="m" fitscale="2"', 'density="500"',
        'mass="3"', 'shellinertia="true"', 'contype="0" conaffinity="0"', 'adhesion="1"',
        'surfacevel="1 0 0"',
    ],
    "geomc": [
        'priority="1" friction=".2" condim="1"',
    ],
    "meshgeom": [
        'mass="3"', 'pos="0 0 1"', 'euler="10 20 30"', 'density="10"',
    ],
    "plane": [
        'contype="4" conaffinity="4"', 'priority="3" friction=".2"', 'zaxis="0 1 1"',
    ],
    "site": [
        'euler="10 0 0"', 'quat="1 1 0 0"',
    ],
    "frame": [
        'euler="0 10 0"', 'quat="1 1 0 0"', 'zaxis="1 0 0"',
    ],
    "replicate": [
        'euler="0 0 30"',
    ],
    "pair": [
        'friction=".2"', 'friction=".2 .3 .1 .1 .1"', 'condim="1"', 'adhesion="1"',
    ],
    "fixed": [
        'stiffness="2"', 'stiffness="2" springlength=".3"', 'stiffness="2" springlength=".3 .5"',
        'damping="1"', 'damping="1 2"', 'stiffness="1 2"', 'frictionloss="1"', 'armature=".1"',
        'range="-1 1"', 'limited="true" range="-1 1"', 'actuatorfrcrange="-1 1"',
        'springyield="1"',
    ],
    "spatial": [
        'damping="1"', 'frictionloss="1"', 'range="0 1"', 'actuatorfrcrange="-1 1"',
    ],
    "wrap": [
        'sidesite="s"',
    ],
    "connect": [
        'active="false"',
    ],
    "weld": [
        'active="false"', 'relpose="0 0 1 1 1 0 0"', 'relpose="0 0 1 1 1 0 0" anchor=".1 0 0"',
        'torquescale="0"',
    ],
    "eqjoint": [
        'polycoef=".1 2"', 'polycoef=".1 2 0 0 0"', 'polycoef="0 1 .5 0 0"', 'active="false"',
    ],
    "eqtendon": [
        'polycoef=".1"', 'tendon2="sp"', 'active="false"',
    ],
    "motor": [
        'gear="3"', 'gear="3 1 1"', 'ctrlrange="-1 1"', 'ctrllimited="true" ctrlrange="-1 1"',
        'forcerange="-1 2"', 'armature=".1"', 'damping=".1"', 'damping=".1 .2"',
    ],
    "position": [
        'kp="3"', 'kv="2"', 'dampratio=".5"', 'timeconst=".1"', 'ctrlrange="-1 1"', 'gear="2"',
        'forcerange="-1 1"', 'kp="3" kv="1" gear="-1"',
    ],
    "velocity": [
        'kv="3"', 'forcerange="-1 1"', 'gear="2"',
    ],
    "general": [
        'gainprm="2"', 'gainprm="2 3 4" gaintype="affine"', 'biastype="affine" biasprm="1 2 3"',
        'dyntype="integrator"', 'dyntype="filter" dynprm=".1"',
        'dyntype="filterexact" dynprm=".1"', 'dyntype="integrator" actrange="-1 1"',
        'dyntype="integrator" actlimited="true" actrange="-1 1"',
        'dyntype="integrator" actearly="true"', 'dyntype="filter" dynprm=".1" actdim="1"',
        'dyntype="user" actdim="2"', 'gaintype="user"', 'biastype="user"', 'gear="2"',
        'armature=".1"', 'ctrlrange="-1 1"', 'gaintype="user" biastype="affine" biasprm="1 1 1"',
    ],
    "cylinder": [
        'timeconst=".2"', 'area="2"', 'diameter=".3"', 'bias="1 2 3"', 'ctrlrange="0 1"',
    ],
    "muscle": [
        'timeconst=".02 .05"', 'range=".5 1"', 'force="30"', 'scale="100"', 'lmin=".4"',
        'lmax="1.7"', 'vmax="2"', 'fpmax="1.1"', 'fvmax="1.1"', 'tausmooth=".1"',
        'ctrlrange="0 2"',
    ],
    "intvelocity": [
        'kp="2"', 'kv="1"', 'dampratio="1"',
    ],
    "damper": [
        'kv="2"',
    ],
    "sensor": [
        'cutoff="1"',
    ],
    "framepos": [
        'reftype="body" refname="b"', 'cutoff=".1"',
    ],
    "key": [
        'qvel="1 1 1 1 1 1 1 1 1 1 1 1 1 1"',
    ],
}  # fmt: skip
CASES = [(place, text) for place, texts in ROWS.items() for text in texts]


def model(place: str = "", text: str = "") -> str:
    return MODEL.format(**{**dict.fromkeys(ROWS, ""), **({place: text} if place else {})})


def flat(part: object) -> object:
    """Everything that a description holds, as a text; without the warnings and the file."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    if dataclasses.is_dataclass(part):
        names = (field.name for field in dataclasses.fields(part))
        return [flat(getattr(part, name)) for name in names if name not in ("warnings", "source")]
    if isinstance(part, tuple | list):
        return [flat(one) for one in part]
    if isinstance(part, dict):
        return {key: flat(value) for key, value in part.items()}
    return part if isinstance(part, float | str) else "function" if callable(part) else repr(part)


def ours(folder: Path, text: str) -> tuple[str, tuple[str, ...]]:
    (folder / "m.xml").write_text(text)
    robot = robosim.load(folder / "m.xml")
    return repr(flat(robot)), robot.warnings


@cache
def theirs(text: str) -> dict[str, np.ndarray]:
    compiled = mujoco.MjModel.from_xml_string(text)
    found = {name: np.array(value) for name in dir(compiled)
             if isinstance(value := getattr(compiled, name), np.ndarray)}  # fmt: skip
    option = compiled.opt
    for name in ("disableflags", "enableflags", "gravity", "timestep", "density", "viscosity",
                 "wind", "disableactuator"):  # fmt: skip
        found[name] = np.array(getattr(option, name))
    return found


@pytest.mark.parametrize(("place", "text"), CASES)
def test_what_changes_mujocos_model_changes_ours_or_is_told(tmp_path, place, text):
    before, after = theirs(model()), theirs(model(place, text))
    assert any(name not in before or before[name].shape != value.shape
               or not np.array_equal(before[name], value, equal_nan=True)
               for name, value in after.items())  # fmt: skip
    assert ours(tmp_path, model()) != ours(tmp_path, model(place, text))
