"""Models with a fault of one simulator whose cause is known, and models without one.

Each case is what people ask about again and again in the trackers and forums of simulators: a
small file with nothing in it but that.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A model, and what an audit has to say about it.

    Attributes
    ----------
    text : str
        MJCF or URDF.
    check : str
        The check that has to find it; empty for a clean model.
    cause : str
    element : str
        What has to be named.
    mend : str
        What the setting that mends it has to contain; empty for none.
    seconds : float
    options : dict
        Of `audit`.
    files : dict of name to text
        Beside the model.
    peer : str
        The simulator that is judged.
    """

    text: str
    check: str = ""
    cause: str = ""
    element: str = ""
    mend: str = ""
    seconds: float = 0.6
    options: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    peer: str = "mujoco"


def mjcf(world: str, rest: str = "", option: str = 'timestep="0.002"') -> str:
    return f'<mujoco model="case"><option {option}/><worldbody>{world}</worldbody>{rest}</mujoco>'


FLOOR = '<geom type="plane" size="5 5 .1"/>'
BOX = '<body name="box" pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .1 .1" {more}/></body>'


def box(z: float = 0.1, more: str = 'mass="1"') -> str:
    return FLOOR + BOX.format(z=z, more=more)


FINGERS = """
<body name="left" pos="-.04 0 .3"><joint name="l" type="slide" axis="1 0 0" damping="5"/>
  <geom type="box" size=".01 .02 .03" mass=".1"/></body>
<body name="right" pos=".04 0 .3"><joint name="r" type="slide" axis="-1 0 0" damping="5"/>
  <geom type="box" size=".01 .02 .03" mass=".1"/></body>
<body name="mug" pos="0 0 .3"><freejoint/><geom type="box" size=".03 .02 .05" mass=".3"/></body>"""
GRASP = """<actuator><motor name="lm" joint="l"/><motor name="rm" joint="r"/></actuator>
<keyframe><key name="hold" qpos="0 0 0 0 .3 1 0 0 0" ctrl="5 5"/></keyframe>"""
ROD = 'type="capsule" size=".01" contype="0" conaffinity="0" density="2000"'
FOUR_BAR = f"""
<body name="crank" pos="0 0 1" euler="0 30 0"><joint name="a" type="hinge" axis="0 1 0"/>
  <geom {ROD} fromto="0 0 0 0 0 .2"/>
  <body name="coupler" pos="0 0 .2" euler="0 -30 0"><joint name="b" type="hinge" axis="0 1 0"/>
    <geom {ROD} fromto="0 0 0 .3 0 0"/></body></body>
<body name="rocker" pos=".3 0 1" euler="0 30 0"><joint name="c" type="hinge" axis="0 1 0"/>
  <geom {ROD} fromto="0 0 0 0 0 .2"/></body>"""
PIN = '<equality><connect name="pin" body1="coupler" body2="rocker" anchor=".3 0 0" {}/></equality>'
HANGING = """
<body name="beam" pos="0 0 2"><joint name="hinge" type="hinge" axis="0 1 0" damping="1"/>
  <geom type="box" size=".2 .02 .02" pos=".2 0 0" mass="1" contype="0" conaffinity="0"/></body>
<body name="load" pos=".4 0 2"><freejoint/>
  <geom type="box" size=".05 .05 .05" mass="20" contype="0" conaffinity="0"/></body>"""
ARM = """
<body name="arm" pos="0 0 1"><joint name="elbow" type="hinge" axis="0 1 0" {joint}/>
  <geom type="capsule" size=".02" fromto="0 0 0 .5 0 0" mass="2" contype="0" conaffinity="0"/>
</body>"""
DOUBLE = """
<body name="one" pos="0 0 2"><joint name="a" type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" contype="0" conaffinity="0"/>
  <body name="two" pos=".5 0 0"><joint name="b" type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .5 0 .3" size=".02" contype="0" conaffinity="0"/></body>
</body>"""
GEARS = """
<body name="big" pos="0 0 1"><joint name="drive" type="hinge" axis="0 1 0" damping=".1"/>
  <geom type="box" size=".2 .02 .02" pos=".2 0 0" mass="3" contype="0" conaffinity="0"/></body>
<body name="small" pos="0 .2 1"><joint name="driven" type="hinge" axis="0 1 0" damping="20"/>
  <geom type="box" size=".2 .02 .02" pos="-.2 0 0" mass="2" contype="0" conaffinity="0"/></body>"""
INERTIA = '<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><mass value="1"/><origin xyz="{{}}"/>{INERTIA}</inertial>'


def link(name: str, com: str = "0 0 -.2", inertial: str = INERTIAL) -> str:
    return f'<link name="{name}">{inertial.format(com)}</link>'


def hinge(name: str, parent: str, child: str, at: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="0 1 0"/>{more}</joint>'
    )


def urdf(*parts: str, more: str = "") -> str:
    root = '<link name="world"/>'
    return f'<robot name="case" {more}>{root}{"".join(parts)}</robot>'


CASES = {
    "creeping grasp": Case(
        mjcf(FLOOR + FINGERS, GRASP), "slip", "settings", "'mug'", "noslip_iterations",
        options={"pose": "hold"},
    ),
    "box creeps down a slope": Case(
        mjcf(
            '<geom name="slope" type="box" size="1 1 .1" euler="0 20 0" pos="0 0 -.1"/>'
            '<body name="box" pos=".034202 0 .093969" euler="0 20 0"><freejoint/>'
            '<geom type="box" size=".1 .1 .1" mass="1" friction=".6 0 0"/></body>'
        ),
        "slip", "settings", "'box' on the world", "noslip_iterations",
    ),
    "standing feet creep": Case(
        mjcf(
            FLOOR + '<body name="trunk" pos="0 0 .3"><freejoint/>'
            '<geom type="box" size=".2 .1 .05" mass="10" contype="0" conaffinity="0"/>'
            + "".join(
                f'<geom type="sphere" size=".03" pos="{x} {y} -.27" mass=".1"/>'
                for x in (-0.2, 0.2) for y in (-0.1, 0.1)
            ) + "</body>",
            option='timestep="0.002" gravity="3 0 -9.3"',
        ),
        "slip", "settings", "'trunk' on the world", "noslip_iterations",
    ),
    "four-bar opens": Case(
        mjcf(FOUR_BAR, PIN.format(""), option='timestep="0.005"'),
        "loops", "", "'pin'", "solref of equalities",
    ),
    "weld sags": Case(
        mjcf(
            HANGING,
            '<equality><weld name="glue" body1="beam" body2="load"/></equality>'
        ),
        "loops", "settings", "'glue'", "of equalities",
    ),
    "gears slip": Case(
        mjcf(
            GEARS, '<equality><joint name="teeth" joint1="driven" joint2="drive" '
            'polycoef="0 -1 0 0 0" solref=".5 1"/></equality>',
        ),
        "loops", "settings", "'teeth'", "solref of equalities",
    ),
    "heavy box sinks": Case(
        mjcf(box(more='mass="50" solref=".2 1" priority="1"')),
        "penetration", "settings", "'box' on the world", "solref of geoms",
    ),
    "coarse steps sink": Case(
        mjcf(box(0.3), option='timestep="0.02"'),
        "penetration", "time step", "'box' on the world", "",
    ),
    "a margin lifts": Case(
        mjcf(box(0.1, 'mass="1" margin=".01"')),
        "floating", "settings", "'box' on the world", 'margin of geoms="0"',
    ),
    "a stack hops": Case(
        mjcf(
            box(0.1, 'mass="1" solref=".02 .01"')
            + '<body name="top" pos="0 0 .3"><freejoint/>'
            '<geom type="box" size=".1 .1 .1" mass="10" solref=".02 .01"/></body>'
        ),
        "rest", "settings", "'top'", "solref of geoms",
    ),
    "a limit yields": Case(
        mjcf(ARM.format(joint='limited="true" range="-30 5" solreflimit=".1 1"')),
        "limits", "settings", "'elbow'", "solreflimit",
    ),
    "dry friction creeps": Case(
        mjcf(ARM.format(joint='frictionloss="8" solreffriction=".2 1"')),
        "friction", "settings", "'elbow'", "solreffriction",
    ),
    "a stiff servo explodes": Case(
        mjcf(
            ARM.format(joint=""),
            '<actuator><position name="servo" joint="elbow" kp="2000" kv="1000"/></actuator>',
        ),
        "diverged", "settings", "the run in MuJoCo", "implicitfast",
    ),
    "a stiff spring explodes": Case(
        mjcf(ARM.format(joint='stiffness="400000"')),
        "diverged", "time step", "the run in MuJoCo", "",
    ),
    "a double pendulum loses energy": Case(
        mjcf(DOUBLE), "energy", "time step", "the whole robot", "RK4", seconds=2.0,
    ),
    "a spinning body gains energy": Case(
        mjcf(
            '<body name="wing" pos="0 0 1"><freejoint/><geom type="box" size=".2 .1 .02" mass="1" '
            'contype="0" conaffinity="0"/></body>',
            '<keyframe><key name="spin" qpos="0 0 1 1 0 0 0"/></keyframe>',
            option='timestep="0.005" gravity="0 0 0"',
        ),
        "energy", "time step", "the whole robot", "integrator",
        options={"v": [0, 0, 0, 0.01, 20.0, 0.01]}, seconds=1.0,
    ),
    "chaos": Case(
        mjcf(DOUBLE, option='timestep="0.002" integrator="RK4"'),
        "parting", "chaos", "'two'", "", seconds=14.0,
    ),
    "a pyramid pulls aside": Case(
        mjcf(
            '<geom type="plane" size="5 5 .1" friction=".3 0 0"/>'
            '<body name="box" pos="0 0 .02"><freejoint/>'
            '<geom type="box" size=".3 .3 .02" mass="1" friction=".3 0 0"/></body>'
        ),
        "parting", "settings", "'box'", "elliptic",
        options={"v": [1.0, 1.0, 0, 0, 0, 0]},
    ),
    "water is not there in robosim": Case(
        mjcf(DOUBLE, option='timestep="0.002" integrator="RK4" density="1000" viscosity=".01"'),
        "parting", "reader", "'two'", "", seconds=1.0,
    ),
    "rotors that one reader drops": Case(
        urdf(
            link("arm"),
            hinge("motor", "world", "arm", "0 0 1", '<dynamics damping=".1"/>'),
            '<transmission type="SimpleTransmission"><joint name="motor"/>'
            '<actuator name="m"><drake:rotor_inertia value=".01"/><drake:gear_ratio value="5"/>'
            "</actuator></transmission>",
            more='xmlns:drake="http://drake.mit.edu"',
        ),
        "dropped", "reader", "'motor'", "robosim convert",
    ),
    "a loop that one reader drops": Case(
        urdf(
            link("left"), link("right"), link("bar", ".2 0 0"),
            hinge("a", "world", "left", "0 0 1"), hinge("b", "world", "right", ".4 0 1"),
            hinge("c", "left", "bar", "0 0 -.4"),
        ),
        "dropped", "reader", "'closing'", "robosim convert",
        files={
            "case.loops.yaml": "loops:\n  - name: closing\n    type: spherical\n"
            "    link1: {link: right, xyz: [0, 0, -0.4]}\n"
            "    link2: {link: bar, xyz: [0.4, 0, 0]}\n",
        },
    ),
    "a mimic joint that one reader drops": Case(
        urdf(
            link("left"), link("right"), hinge("a", "world", "left", "0 0 1"),
            hinge("b", "world", "right", ".4 0 1", '<mimic joint="a" multiplier="-1"/>'),
        ),
        "dropped", "reader", "'b' does not follow 'a'", "JOINT_GEAR", peer="pybullet",
    ),
    "an impact that one simulator sees within the ground": Case(
        f'<robot name="case"><link name="box">{INERTIAL.format("0 0 0")}<collision><geometry>'
        '<box size=".2 .2 .2"/></geometry></collision></link></robot>',
        "penetration", "time step", "'box'", "gap", seconds=0.3, peer="newton",
        options={"q": [0, 0, 0.3, 1, 0, 0, 0]},
    ),
    "an inertia that one reader refuses": Case(
        urdf(
            link("arm", inertial='<inertial><mass value="1"/><origin xyz="{}"/><inertia ixx=".01" '
            'iyy=".01" izz=".03" ixy="0" ixz="0" iyz="0"/></inertial>'),
            hinge("j", "world", "arm", "0 0 1"),
        ),
        "loading", "", "MuJoCo", "",
    ),
}  # fmt: skip

CLEAN = {
    "a pendulum": Case(mjcf(ARM.format(joint='damping=".1"'), option='timestep="0.001"')),
    "a falling box": Case(mjcf(box(3.0)), seconds=0.5),
    "a box at rest": Case(
        mjcf(box(0.1, 'mass="1" solref=".004 1" solimp=".99 .999 .001"'))
    ),
    "a held arm": Case(
        mjcf(
            ARM.format(joint='damping="2" armature=".01"'),
            '<actuator><position name="servo" joint="elbow" kp="200" kv="10"/></actuator>',
            option='timestep="0.002" integrator="implicitfast"',
        )
    ),
    "a four-bar": Case(
        mjcf(
            FOUR_BAR, PIN.format('solref=".004 1" solimp=".99 .9999 .001"'),
            option='timestep="0.0005"',
        ),
        seconds=0.5,
    ),
}  # fmt: skip
