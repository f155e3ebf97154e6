"""The elements and attributes of MJCF, and their treatment here.

An attribute is read, or has no meaning here (appearance, MuJoCo's solver, storage), or acts in
MuJoCo only. Other attributes are not part of MJCF. [MuJoCo's XML reference, versions 2.0 to 4.0]
"""

from __future__ import annotations

from typing import NamedTuple


class Element(NamedTuple):
    """The attributes of an element, and its possible children.

    Attributes
    ----------
    read, quiet, acting : frozenset of str
        Attributes that are read, that have no meaning here, and that act in MuJoCo only.
    children : frozenset of str
        Tags of children that are read, or noted elsewhere.
    """

    read: frozenset[str]
    quiet: frozenset[str]
    acting: frozenset[str]
    children: frozenset[str]


def _element(read: str, quiet: str = "", acting: str = "", children: str = "") -> Element:
    words = (read, f"name class user group {quiet}", acting, children)
    return Element(*(frozenset(text.split()) for text in words))


_PLACE = "pos quat axisangle euler xyaxes zaxis"
_SOLVER = "solref solimp margin gap solmix solreffriction solimpfriction solreflimit solimplimit"
_FORCE_RANGE = "actuatorfrcrange actuatorfrclimited"
_BODY = "body frame replicate joint freejoint geom site inertial camera light include plugin"
_LEFT_OUT = "attach composite flexcomp"
_TENDON = f"stiffness damping frictionloss armature range limited springlength {_FORCE_RANGE}"
_ACTUATOR = (
    "joint jointinparent tendon site refsite body cranksite slidersite gear ctrlrange ctrllimited "
    "forcerange forcelimited armature damping dyntype delay nsample interp"
)
# Attributes of activations and muscles, and of elements that are noted as a whole.
_ACTIVATION = (
    "timeconst tausmooth actearly actlimited actrange dynprm lengthrange range force scale lmin "
    "lmax vmax fpmax fvmax"
)
_OTHER_KINDS = "cranklength gain plugin instance"
_MOTOR = (
    "motorconst resistance inductance nominal saturation controller input thermal cogging lugre"
)
_ACTUATORS_ALONE = f"inheritrange actdim ffrange velrange posrange slewmax imax ki {_MOTOR}"

# Elements that are not searched: they concern appearance or storage, or are noted as a whole.
_UNSEEN = (
    "visual statistic size custom camera light texture material skin model plugin lengthrange "
    "composite flexcomp attach extension deformable sensor flex flexstrain flexvert"
)
UNSEEN = frozenset(_UNSEEN.split())

_ACTUATOR_KIND = _element(
    f"{_ACTUATOR} {_ACTIVATION} kp kv dampratio gainprm biasprm gaintype biastype area diameter "
    "bias",
    _OTHER_KINDS,
    _ACTUATORS_ALONE,
    "plugin",
)
_OF_PID = {"ki", "imax", "slewmax", "input", "posrange", "velrange", "ffrange", "inheritrange"}
_KINDS = (
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion "
    "dcmotor plugin"
)
_EQUALITY = _element("active body1 body2 site1 site2 anchor relpose", f"{_SOLVER} torquescale")

# tag, or tag of the parent / tag -> element.
ELEMENTS: dict[str, Element] = {
    "mujoco": _element(
        "model",
        children="compiler option size statistic visual default custom asset worldbody contact "
        "equality tendon actuator keyframe extension deformable sensor include",
    ),
    "compiler": _element(
        "angle alignfree assetdir autolimits balanceinertia boundinertia boundmass coordinate "
        "eulerseq fitaabb inertiafromgeom inertiagrouprange meshdir settotalmass strippath",
        "conflict convexhull discardvisual exactmeshinertia fusestatic passthrough savecanonical "
        "savecompiled saveinertial texturedir usethread",
        children="lengthrange",
    ),
    "option": _element(
        "timestep gravity density viscosity wind",
        "ccd_iterations ccd_tolerance cone impratio integrator iterations jacobian ls_iterations "
        "ls_tolerance magnetic noslip_iterations noslip_tolerance o_friction o_margin o_solimp "
        "o_solref sdf_initpoints sdf_iterations sleep_tolerance solver tolerance apirate "
        "mpr_iterations mpr_tolerance",
        "actuatorgroupdisable collision",
        "flag",
    ),
    "flag": _element(
        "contact constraint damper equality frictionloss gravity limit passive spring",
        "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase "
        "multiccd nativeccd refsafe sensornoise sleep speculative warmstart",
        "actuation clampctrl filterparent override sensor",
    ),
    "default": _element(
        "",
        children="default joint freejoint geom site mesh texture material camera light pair skin "
        f"equality tendon {_KINDS}",
    ),
    "default/equality": _EQUALITY,
    "default/tendon": _element(_TENDON, f"{_SOLVER} material rgba width", "springyield"),
    "asset": _element("", children="mesh hfield skin texture material model"),
    "mesh": _element(
        "file scale refpos refquat vertex face inertia builtin",
        "normal texcoord smoothnormal content_type material params",
        "maxhullvert",
        children="plugin",
    ),
    "hfield": _element("file nrow ncol size elevation", "content_type"),
    "worldbody": _element("childclass", children=f"{_BODY} {_LEFT_OUT}"),
    "body": _element(
        f"{_PLACE} childclass gravcomp mocap", "fuse simple sleep", children=f"{_BODY} {_LEFT_OUT}"
    ),
    "frame": _element(f"{_PLACE} childclass", children=f"{_BODY} {_LEFT_OUT}"),
    "replicate": _element("count offset euler sep childclass", children=f"{_BODY} {_LEFT_OUT}"),
    "inertial": _element(f"{_PLACE} mass diaginertia fullinertia"),
    "joint": _element(
        "type axis pos range limited ref springref springdamper stiffness damping armature "
        f"frictionloss {_FORCE_RANGE}",
        _SOLVER,
        "springyield actuatorgravcomp",
    ),
    "freejoint": _element("align"),
    "geom": _element(
        f"{_PLACE} type size fromto mesh hfield fitscale density mass shellinertia contype "
        "conaffinity condim priority friction material rgba adhesion surfacevel",
        # Fluid coefficients of a shape have no effect without a fluid, and fluids are noted.
        f"{_SOLVER} castshadow fluidshape fluidcoef",
        children="plugin",
    ),
    "site": _element(f"{_PLACE} fromto", "type size mesh material rgba"),
    "contact": _element("", children="pair exclude"),
    "pair": _element("geom1 geom2 friction condim", _SOLVER, "adhesion"),
    "exclude": _element("body1 body2"),
    "tendon": _element("", children="spatial fixed"),
    "spatial": _element(
        _TENDON, f"{_SOLVER} material rgba width", "springyield", "site geom pulley"
    ),
    "spatial/site": _element("site"),
    "spatial/geom": _element("geom sidesite"),
    "pulley": _element("divisor"),
    "fixed": _element(_TENDON, _SOLVER, "springyield", "joint"),
    "fixed/joint": _element("joint coef"),
    "equality": _element("", children="connect weld joint tendon flex flexstrain flexvert"),
    "connect": _EQUALITY,
    "weld": _EQUALITY,
    "equality/joint": _element("active joint1 joint2 polycoef", _SOLVER),
    "equality/tendon": _element("active tendon1 tendon2 polycoef", _SOLVER),
    "actuator": _element("", children=_KINDS),
    **dict.fromkeys(_KINDS.split(), _ACTUATOR_KIND),
    **dict.fromkeys(
        ("position", "intvelocity"),
        _ACTUATOR_KIND._replace(
            read=_ACTUATOR_KIND.read | {"inheritrange"},
            acting=_ACTUATOR_KIND.acting - {"inheritrange"},
        ),
    ),
    "adhesion": _ACTUATOR_KIND._replace(
        read=_ACTUATOR_KIND.read | {"gain"}, quiet=_ACTUATOR_KIND.quiet - {"gain"}
    ),
    "dcmotor": _ACTUATOR_KIND._replace(
        read=_ACTUATOR_KIND.read | set(_MOTOR.split()),
        acting=_ACTUATOR_KIND.acting - set(_MOTOR.split()),
    ),
    "pid": _ACTUATOR_KIND._replace(
        read=_ACTUATOR_KIND.read | _OF_PID, acting=_ACTUATOR_KIND.acting - _OF_PID
    ),
    "keyframe": _element("", children="key"),
    "key": _element("qpos qvel act ctrl time", "plastic", "mpos mquat"),
    "include": _element("file"),
}
