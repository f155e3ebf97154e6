"""<actuator>: driven joints, their efforts, and the forces of controls.

robosim's controllers return joint torques. The gear and gains of a motor or servo are kept in
`Mechanism.actuators`, by which controls can be converted to such torques.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from robosim.description.actuator import INTERPOLATIONS, Actuator, ControlDelay
from robosim.description.names import free_name
from robosim.loaders.mjcf.anchors import Anchor, Anchors, Scalars
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.dc_motors import DCMotorSpec, inputs_of, read_dc_motor, read_pid
from robosim.loaders.mjcf.defaults import ACTUATORS, Defaults
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.keyframes import Slots
from robosim.loaders.mjcf.links import Links
from robosim.loaders.mjcf.muscles import (
    PENDING,
    MuscleSpec,
    is_muscle,
    read_activation,
    read_muscle,
)
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.tendons import Tendons
from robosim.loaders.notes import Notes

Three = tuple[float, float, float]

_KNOWN = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "dcmotor",
    "pid",
)


@dataclass
class Actuation:
    """The actuation of joints.

    Attributes
    ----------
    actuators : list of Actuator
    driven : set of str
        Names of joints.
    muscles : dict of str to MuscleSpec
        Muscles among the actuators.
    added : dict of str to (float, float)
        Rotor and damping that joints have from their actuators.
    slots : list of Slots
        All actuators of the file, in its order, with their numbers of controls and activations.
    """

    actuators: list[Actuator] = field(default_factory=list)
    driven: set[str] = field(default_factory=set)
    muscles: dict[str, MuscleSpec] = field(default_factory=dict)
    added: dict[str, tuple[float, float]] = field(default_factory=dict)
    slots: list[Slots] = field(default_factory=list)

    def moved_by(self, spec: Spec) -> Spec:
        """A joint with the effects of its actuators."""
        armature, damping = self.added.get(spec.name, (0.0, 0.0))
        return replace(
            spec,
            armature=spec.armature + armature,
            damping=spec.damping + damping,
            efforts=_efforts_of(spec, self.actuators),
        )


def read_actuators(
    root: Node,
    compiler: Compiler,
    defaults: Defaults,
    anchors: Anchors,
    scalars: Scalars,
    tendons: Tendons,
    links: Links,
    notes: Notes,
) -> Actuation:
    """The actuators of a model.

    Raises
    ------
    LoadError
        For an unknown joint, tendon or site, reversed ranges, or invalid numbers.
    """
    found = Actuation()
    names: set[str] = set()
    own = {node.name for section in root.all("actuator") for node in section.children}
    limited: dict[str, list[int]] = {}  # tendon -> its actuators
    for section in root.all("actuator"):
        for node in section.children:
            if node.tag not in ACTUATORS:
                raise node.error("is no kind of actuator", ACTUATORS)
            if node.name in names:
                raise node.error("the name is used twice")
            names |= {node.name} - {""}
            resolved = defaults.resolve(node)
            name = node.name or free_name(f"actuator{len(found.actuators)}", own)
            found.slots.append(_slots(resolved, name))
            gears = {}
            if node.tag != "adhesion":
                gears = _gears(resolved, scalars, tendons, links, found, notes, name)
            site = None if gears else _site(resolved, anchors, scalars, links, found, notes, name)
            if node.tag not in _KNOWN and (gears or site):
                notes.add(f"actuators of the kind {node.tag} are left out", name)
            elif _foreign(resolved):
                notes.add("actuators with gains or biases of users and plugins are left out", name)
            elif node.tag == "adhesion":
                found.actuators.append(_adhesion(resolved, name, anchors, compiler, notes))
            elif gears or site:
                actuator = _actuator(resolved, name, gears, compiler, notes)
                _add_rotor(resolved, actuator, found, notes)
                if site is not None:
                    wrench = tuple(_gear(resolved).tolist())
                    actuator = replace(actuator, place=site.as_place(), wrench=wrench)
                if is_muscle(resolved):
                    found.muscles[name] = read_muscle(resolved)
                found.actuators.append(_inheriting(resolved, actuator, scalars, notes))
                if resolved.attributes.get("tendon") in tendons.efforts:
                    limited.setdefault(resolved.text("tendon"), []).append(len(found.actuators) - 1)
    for tendon, indices in limited.items():
        _limit_effort(found, indices, tendons.efforts[tendon], tendon, notes)
    return found


def _slots(node: Node, name: str) -> Slots:
    """How many controls and activations of keyframes an actuator has."""
    if node.tag == "plugin" or node.has("actdim"):
        return Slots(name, None if node.tag == "plugin" else 1, None)
    if node.tag == "dcmotor":
        gains = node.some_numbers("controller", np.zeros(6), fill=True)
        states = [gains[1], gains[3]]
        states += [np.any(node.some_numbers("thermal", 0.0)[:3])]
        states += [node.some_numbers("lugre", 0.0)[0]]
        states.append(np.any(node.some_numbers("inductance", 0.0)))
        return Slots(name, len(inputs_of(node)), int(np.count_nonzero(states)))
    if node.tag == "pid":
        states = [node.number("ki", 0.0), node.number("slewmax", 0.0)]
        return Slots(name, len(inputs_of(node, "pos vel")), int(np.count_nonzero(states)))
    if node.tag == "orientation":
        return Slots(name, None, None)
    active = {"muscle", "intvelocity", "cylinder"}
    kind = node.attributes.get("dyntype", "none") if node.tag == "general" else "none"
    if kind in ("user", "dcmotor"):
        return Slots(name, 1, None)
    filtered = node.tag == "position" and node.number("timeconst", 0.0) > 0
    return Slots(name, 1, int(node.tag in active or kind != "none" or filtered))


def _foreign(node: Node) -> bool:
    """Whether a user's program or a plugin computes the force of a general actuator."""
    if node.tag != "general":
        return False
    others = "user", "dcmotor", "pid"
    gain = node.choice("gaintype", ("fixed", "affine", "muscle", *others), "fixed")
    bias = node.choice("biastype", ("none", "affine", "muscle", *others), "none")
    return bool({gain, bias} & set(others))


def _limit_effort(
    found: Actuation, indices: list[int], ends: tuple[float, float], tendon: str, notes: Notes
) -> None:
    """Limit the force of a tendon's only actuator to the tendon's range, or note the range."""
    actuator = found.actuators[indices[0]]
    low, high = (float(end) for end in np.clip(actuator.force_range, *ends))
    if len(indices) > 1 or low == high:
        notes.add("the actuatorfrcrange of tendons with several actuators is left out", tendon)
    else:
        found.actuators[indices[0]] = replace(actuator, force_range=(low, high))


def _adhesion(
    node: Node, name: str, anchors: Anchors, compiler: Compiler, notes: Notes
) -> Actuator:
    """An actuator that pulls a body towards all that it touches."""
    if not node.has("ctrlrange"):
        raise node.error("needs a 'ctrlrange' from zero or more")
    if node.number("gain", 1.0) < 0:
        raise node.error("'gain' must not be negative")
    actuator = _actuator(node, name, {}, compiler, notes)
    return replace(actuator, place=anchors.body(node, "body").as_place(), adheres=node.text("body"))


def _gears(
    node: Node,
    scalars: Scalars,
    tendons: Tendons,
    links: Links,
    found: Actuation,
    notes: Notes,
    name: str,
) -> dict[str, float | tuple[float, ...]]:
    """Joint or tendon -> force there for a unit force of the actuator, if it is constant."""
    gear = _gear(node)
    for attribute in ("joint", "jointinparent"):
        if node.has(attribute):
            spec = scalars.get(node, attribute)
            if spec.type in ("hinge", "slide"):
                found.driven.add(spec.name)
                return {spec.name: float(gear[0])}
            if spec.type == "ball":
                found.driven.add(spec.name)
                return {spec.name: tuple(gear[:3].tolist())}
            notes.add("actuators of free joints are left out: put them at sites", name)
            return {}
    if node.has("tendon"):
        known: Mapping[str, object] = {**tendons.spatial, **tendons.fixed}
        node.look_up("tendon", known, "tendon")
        tendon = tendons.fixed.get(node.text("tendon"))
        if tendon is not None:
            found.driven |= set(tendon.coefficients)
            return {joint: float(gear[0]) * c for joint, c in tendon.coefficients.items()}
        over = tendons.links[node.text("tendon")]
        driven = [scalars.specs[joint] for joint in _spanned(over, links)]
        found.driven |= {spec.name for spec in driven if spec.type != "free"}
        return {tendons.spatial[node.text("tendon")].name: float(gear[0])}
    if not node.has("site") or node.has("refsite") or node.has("cranksite"):
        notes.add("actuators that act on no joint, tendon or single site are left out", name)
    return {}


def _gear(node: Node) -> np.ndarray:
    return node.some_numbers("gear", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), fill=True)


def _site(
    node: Node,
    anchors: Anchors,
    scalars: Scalars,
    links: Links,
    found: Actuation,
    notes: Notes,
    name: str,
) -> Anchor | None:
    """The site at which an actuator pushes, if it acts on nothing else."""
    others = ("joint", "jointinparent", "tendon", "refsite", "cranksite")
    if not node.has("site") or any(map(node.has, others)):
        return None
    anchor = anchors.site(node, "site")
    if anchor.link == 0:
        notes.add("actuators that push at the world are left out", name)
        return None
    moved = _spanned({anchor.link, 0}, links)
    found.driven |= {joint for joint in moved if scalars.specs[joint].type != "free"}
    return anchor


def _spanned(over: Collection[int], links: Links) -> list[str]:
    """Names of the joints that can move a tendon over these links."""
    below: Counter[int] = Counter()
    for link in over:
        while link != 0:
            below[link] += 1
            link = links.links[link].parent
    return [
        joint.name
        for link, count in below.items()
        if count < len(over)
        for joint in links.links[link].top.joints
    ]


def _actuator(
    node: Node,
    name: str,
    gears: dict[str, float | tuple[float, ...]],
    compiler: Compiler,
    notes: Notes,
) -> Actuator:
    """An actuator whose force is affine in control, length and velocity, a muscle, or a motor."""
    motor: DCMotorSpec | None = None
    turns = any(isinstance(gear, tuple) for gear in gears.values())
    if node.tag == "dcmotor":
        motor = read_dc_motor(node, turns)
    elif node.tag == "pid":
        motor = read_pid(node, turns, compiler.autolimits)
    if motor is not None:
        gain, bias = motor.gain, motor.bias
    else:
        gain, bias = _gain_and_bias(node)
    muscle = PENDING if is_muscle(node) else None
    limits = {}
    for what in ("ctrl", "force"):
        lower, upper = -np.inf, np.inf
        if node.tag == "pid" and what == "ctrl":
            limits[what] = lower, upper  # each input has its own
            continue
        # Those of controls of a damper and of adhesion always act; neither has other signs.
        one_way = node.tag in ("damper", "adhesion") and what == "ctrl"
        always = one_way and node.has("ctrlrange")
        if always or node.limited(f"{what}limited", f"{what}range", compiler.autolimits):
            lower, upper = node.ends(f"{what}range")
            if lower >= upper:
                raise node.error(f"'{what}range' must be from a lower to a higher number")
            if always and lower < 0:
                raise node.error(f"'ctrlrange' of a {node.tag} must not be negative, not {lower:g}")
        limits[what] = lower, upper
    activation = read_activation(node, compiler, notes, name) if motor is None else None
    if motor is not None and node.has("saturation"):
        limits["force"] = -motor.largest_force, motor.largest_force
    return Actuator(
        name,
        gears=gears,
        gain=gain,
        bias=bias,
        control_range=limits["ctrl"],
        force_range=limits["force"],
        activation=activation,
        muscle=muscle,
        in_parent=node.has("jointinparent"),
        delay=_delay(node),
        motor=None if motor is None else motor.motor,
    )


def _delay(node: Node) -> ControlDelay | None:
    """The delay of the control, with a memory of some samples; None without one."""
    seconds, samples = node.number("delay", 0.0), node.number("nsample", 0.0)
    kind = node.choice("interp", INTERPOLATIONS, "zoh")
    if seconds < 0 or samples < 0 or samples != int(samples):
        raise node.error("'delay' and 'nsample' must not be negative, and samples be whole")
    if seconds == 0:
        return None
    if samples == 0:
        raise node.error("'delay' needs a memory: an 'nsample' of one or more")
    return ControlDelay(seconds, int(samples), kind)


def _add_rotor(node: Node, actuator: Actuator, found: Actuation, notes: Notes) -> None:
    """Add the armature and damping of an actuator to those of its joint, through the gear."""
    values = [node.some_numbers(attribute, 0.0) for attribute in ("armature", "damping")]
    if not any(map(np.any, values)):
        return
    joint, gear = next(iter(actuator.gears.items()), ("", ()))
    if node.has("tendon") or isinstance(gear, tuple):
        notes.add(
            "armature and damping of actuators of tendons, sites and ball joints are left out",
            actuator.name,
        )
        return
    if min(value[0] for value in values) < 0:
        raise node.error("'armature' and 'damping' must not be negative")
    if any(np.any(value[1:]) for value in values):
        notes.add("damping is taken as linear, without its higher powers", actuator.name)
    armature, damping = found.added.get(joint, (0.0, 0.0))
    more = [gear**2 * float(value[0]) for value in values]
    found.added[joint] = armature + more[0], damping + more[1]


def _inheriting(node: Node, actuator: Actuator, scalars: Scalars, notes: Notes) -> Actuator:
    """A servo with the range of its joint, times a factor, for its controls or activation.

    Raises
    ------
    LoadError
        For a negative factor, one with a ctrlrange, or one without a joint with limits.
    """
    factor = node.number("inheritrange", 0.0)
    if node.tag not in ("position", "intvelocity", "pid") or factor == 0:
        return actuator
    what = "act" if node.tag == "intvelocity" else "ctrl"
    if what == "ctrl" and node.attributes.get("ctrllimited") == "false":
        return actuator
    name, gear = next(iter(actuator.gears.items()), ("", ()))
    if node.has("tendon") or isinstance(gear, tuple):
        notes.add(
            "inheritrange is ignored for actuators of tendons, sites and ball joints",
            node.name,
        )
        return actuator
    lower, upper = scalars.specs[name].lower, scalars.specs[name].upper
    given = node.has(f"{what}range") or (node.tag == "pid" and node.has("posrange"))
    if factor < 0 or given or not np.isfinite(upper - lower):
        raise node.error(
            f"'inheritrange' of {factor:g} needs a joint with a range, no '{what}range', and must "
            "not be negative"
        )
    middle, half = (upper + lower) / 2, (upper - lower) / 2
    ends = middle - factor * half, middle + factor * half
    if actuator.activation is not None and what == "act":
        return replace(actuator, activation=replace(actuator.activation, range=ends))
    if actuator.motor is not None:  # of several inputs, of which the position is the first
        others = actuator.motor.ranges or [(-np.inf, np.inf)] * len(actuator.motor.inputs)
        return replace(actuator, motor=replace(actuator.motor, ranges=[ends, *others[1:]]))
    return replace(actuator, control_range=ends)


def _gain_and_bias(node: Node) -> tuple[Three, Three]:
    """Factors of the control and of 1, each with terms of constant, length and velocity."""
    if node.tag in ("position", "intvelocity"):
        kp, kv, ratio = (node.number(*of) for of in (("kp", 1.0), ("kv", 0.0), ("dampratio", 0.0)))
        if ratio < 0 or (ratio and node.has("kv")):
            raise node.error(f"'dampratio' must not be negative, nor beside 'kv'; not {ratio:g}")
        return (kp, 0.0, 0.0), (0.0, -kp, ratio or -kv)  # for a ratio see damping_ratios.py
    if node.tag == "velocity":
        kv = node.number("kv", 1.0)
        return (kv, 0.0, 0.0), (0.0, 0.0, -kv)
    if node.tag == "damper":
        return (0.0, 0.0, -node.number("kv", 0.0)), (0.0, 0.0, 0.0)
    if node.tag == "adhesion":
        return (node.number("gain", 1.0), 0.0, 0.0), (0.0, 0.0, 0.0)
    if node.tag == "motor" or is_muscle(node):
        return (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if node.tag == "cylinder":
        area = node.number("area", 1.0)
        if node.has("diameter"):
            area = np.pi / 4 * node.number("diameter") ** 2
        return (area, 0.0, 0.0), _three(node.numbers("bias", np.zeros(3)))
    gain = node.some_numbers("gainprm", (1.0,))
    bias = node.some_numbers("biasprm", (0.0,))
    affine = node.attributes.get("gaintype", "fixed") == "affine"
    biased = node.attributes.get("biastype", "none") == "affine"
    return (
        _three(gain) if affine else (float(gain[0]), 0.0, 0.0),
        _three(bias) if biased else (0.0, 0.0, 0.0),
    )


def _three(values: np.ndarray) -> Three:
    a, b, c = (float(v) for v in (*values[:3], 0.0, 0.0, 0.0)[:3])
    return a, b, c


def _efforts_of(spec: Spec, actuators: list[Actuator]) -> tuple[float, ...]:
    """Largest efforts of all actuators of a joint together [N m or N], within the joint's limit.

    Of a ball joint along each axis of the child, or in all directions for axes in the parent.
    """
    mine = [a for a in actuators if spec.name in a.gears]
    if not mine:
        return spec.efforts
    total = np.zeros(spec.nv)
    for actuator in mine:
        gear = np.abs(actuator.gears[spec.name])
        gear = np.full(3, np.linalg.norm(gear)) if actuator.in_parent and gear.ndim else gear
        # Nothing along axes without a gear, however large the force.
        total += np.where(gear > 0, actuator.largest_force * np.where(gear > 0, gear, 1.0), 0.0)
    return tuple(np.minimum(spec.efforts, total).tolist())
