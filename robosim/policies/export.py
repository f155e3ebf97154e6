"""Policies of robosim as ONNX files, with the description of their task.

Networks are written layer by layer, in single precision, so that no other exporter is needed: those
of `robosim.learning.PPO` and of Stable-Baselines3, whose layers are linear with activations between
them, and gaits of `robosim learn`, whose targets are a linear function of the clock.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.controllers import Gait
from robosim.description.mechanism import Mechanism
from robosim.errors import MissingExtraError, ModelError, OptionError, SaveError
from robosim.learning import Learned, Trained
from robosim.learning.walking import gait_of
from robosim.policies.layout import Layout
from robosim.policies.metadata import told
from robosim.policies.observing import Observer
from robosim.policies.quantities import Term
from robosim.policies.task import PolicyTask
from robosim.validation import Array
from robosim.version import install

OPSET, IR_VERSION = 17, 8  # of ONNX, which runtimes of recent years read
INPUT, OUTPUT = "obs", "actions"
ACTIVATIONS = {
    "Tanh": "Tanh",
    "ReLU": "Relu",
    "ELU": "Elu",
    "LeakyReLU": "LeakyRelu",
    "Sigmoid": "Sigmoid",
    "Softplus": "Softplus",
}
"""Activations that are written, by their names in torch, with their names in ONNX."""


class Linear(NamedTuple):
    """A layer ``y = W x + b``.

    Attributes
    ----------
    W : (m, n)
    b : (m,)
    """

    W: Array
    b: Array


class Activation(NamedTuple):
    """A function of each entry: the name of an ONNX operator, and its attributes."""

    operator: str
    attributes: Mapping[str, Any] = MappingProxyType({})


Layer = Linear | Activation


def export(
    policy: Any,
    file: str | os.PathLike[str],
    robot: Mechanism,
    task: PolicyTask | None = None,
    *,
    mean: ArrayLike | None = None,
    std: ArrayLike | None = None,
) -> Path:
    """Write a policy and its task to an ONNX file, which `load` reads without a task file.

    Parameters
    ----------
    policy : Trained, model of Stable-Baselines3, Gait, Learned, or layers
        Layers are a sequence of Linear and Activation. Models have an ``MlpPolicy``: PPO, A2C,
        SAC, TD3 or DDPG. What is written gives deterministic actions.
    file : path
        A name that ends in .onnx.
    robot : Mechanism
    task : PolicyTask or None
        The task of the model, such as `robosim.envs.Task.policy_task` returns it. Gaits have their
        own.
    mean, std : (no,) or None
        Observations are normalized by these before the network, as by ``VecNormalize``.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    MissingExtraError
        If onnx is not installed.
    OptionError
        For a policy of another kind, or without a task, or with another number of observations or
        actions than the task's.
    ModelError
        If the robot does not have what the task names.
    SaveError
        If the file cannot be written.
    """
    if isinstance(policy, Learned):
        policy = gait_of(robot, policy)
    if isinstance(policy, Gait):
        if task is not None:
            raise OptionError("a gait has its own task: leave out `task`")
        layers, task = _of_gait(robot, policy)
    elif isinstance(policy, Trained):
        layers = _of_trained(policy)
    else:
        layers = list(policy) if _are_layers(policy) else _layers_of(policy)
    if task is None:
        raise OptionError("a policy is written with its task: give `task`")
    layout = Layout(robot, task)
    size = Observer(layout).size
    if mean is not None or std is not None:
        scale = 1.0 / np.broadcast_to(np.asarray(1.0 if std is None else std, float), size)
        shift = np.broadcast_to(np.asarray(0.0 if mean is None else mean, float), size)
        layers = [Linear(np.diag(scale), -shift * scale), *layers]
    _check(layers, size, len(layout.names))
    path = Path(file)
    try:
        path.write_bytes(_model(layers, told(task, layout)))
    except OSError as error:
        raise SaveError(f"{path}: cannot be written: {error.strerror or error}") from None
    return path


def _check(layers: Sequence[Layer], observations: int, actions: int) -> None:
    """Raise an OptionError if the layers do not fit each other, or the task."""
    width = observations
    for layer in layers:
        if isinstance(layer, Linear):
            m, n = np.shape(layer.W)
            if n != width or np.shape(layer.b) != (m,):
                raise OptionError(
                    f"a layer takes {n} numbers, and is given {width}: the task has {observations} "
                    "observations"
                )
            width = m
    if width != actions:
        raise OptionError(f"the network has {width} actions, and the task {actions} joints")


def _of_gait(robot: Mechanism, gait: Gait) -> tuple[list[Layer], PolicyTask]:
    """A gait as a linear function of the sine and cosine of its clock."""
    if gait.n is not None or gait.blend != 0 or gait.begin != 0:
        raise OptionError(
            "only a gait with one row of parameters that begins at 0 s, without a blend, can be "
            "written"
        )
    frequency = 10.0 * float(gait.parameters[0])
    if not frequency > 0:
        raise ModelError("a gait with the frequency zero has no clock", element="parameter b")
    period, gains = 1.0 / frequency, gait.gains
    # The targets at three phases determine their means and amplitudes.
    early, quarter, half = gait.targets(period * np.array((0.0, 0.25, 0.5)))
    middle = 0.5 * (early + half)
    timestep = gait.timestep or 1e-3
    task = PolicyTask(
        observations=(Term("clock", period=period),),
        joints=robot.actuated_names,
        default_joint_pos=tuple(middle.tolist()),
        start_joint_pos=tuple(early.tolist()),
        stiffness=tuple(gains["kp"].tolist()),
        damping=tuple(gains["kd"].tolist()),
        effort_limits=bool(np.isfinite(gains["limit"]).any()),
        implicit=bool(gains["implicit"].any()),
        timestep=timestep,
        decimation=1,
        name="gait",
    )
    W = np.stack((quarter - middle, early - middle), axis=1)
    return [Linear(W, np.zeros(len(W)))], task


def _of_trained(trained: Trained) -> list[Layer]:
    """The layers of a policy of `robosim.learning.PPO`, whose actions are within -1 and 1."""
    layers: list[Layer] = []
    for W, b in trained.layers():
        layers += [Linear(W.astype(float), b.astype(float)), Activation("Softsign")]
    return [*layers[:-1], Activation("Clip", {"min": -1.0, "max": 1.0})]


def _are_layers(policy: Any) -> bool:
    return isinstance(policy, Sequence) and all(isinstance(one, Layer) for one in policy)


def _layers_of(model: Any) -> list[Layer]:
    """The layers of a model of Stable-Baselines3, from observations to deterministic actions."""
    policy = getattr(model, "policy", model)
    kind = type(model).__name__
    actor: Any = getattr(policy, "actor", None)
    if hasattr(policy, "mlp_extractor") and hasattr(policy, "action_net"):
        modules = [*_modules(policy.mlp_extractor.policy_net), policy.action_net]
        extractor = getattr(policy, "pi_features_extractor", None)
    elif hasattr(actor, "latent_pi"):
        modules, extractor = [*_modules(actor.latent_pi), actor.mu], actor.features_extractor
    elif hasattr(actor, "mu"):
        modules, extractor = _modules(actor.mu), actor.features_extractor
    else:
        raise OptionError(
            f"a {kind} is no policy that can be written: known are models of Stable-Baselines3 "
            "with an MlpPolicy (PPO, A2C, SAC, TD3, DDPG), gaits, and lists of layers"
        )
    if type(extractor).__name__ not in ("FlattenExtractor", "NoneType"):
        raise OptionError(f"a {kind} with a {type(extractor).__name__} cannot be written")
    layers = [layer for module in modules for layer in _layer(module)]
    if hasattr(actor, "latent_pi"):
        layers.append(Activation("Tanh"))
    low, high = np.asarray(policy.action_space.low), np.asarray(policy.action_space.high)
    bounded = np.isfinite(low).all() and np.isfinite(high).all()
    if actor is not None and not (bounded and np.all(low == -1.0) and np.all(high == 1.0)):
        raise OptionError(f"a {kind} whose actions are not within -1 and 1 cannot be written")
    if actor is None and bounded:
        # As Stable-Baselines3 clips them.
        if np.ptp(low) or np.ptp(high):
            raise OptionError("bounds of actions that differ from joint to joint cannot be written")
        layers.append(Activation("Clip", {"min": float(low[0]), "max": float(high[0])}))
    return layers


def _modules(sequential: Any) -> list[Any]:
    return list(sequential.children())


def _layer(module: Any) -> list[Layer]:
    """A layer of torch; none for one that does nothing in evaluation."""
    name = type(module).__name__
    if name == "Linear":
        numbers = (module.weight.detach().cpu().numpy(), module.bias.detach().cpu().numpy())
        return [Linear(*numbers)]
    if name in ("Flatten", "Identity", "Dropout"):
        return []
    if name not in ACTIVATIONS:
        raise OptionError(
            f"a layer {name} cannot be written (known: Linear, {', '.join(ACTIVATIONS)})"
        )
    attributes = {}
    if name == "ELU":
        attributes["alpha"] = float(module.alpha)
    if name == "LeakyReLU":
        attributes["alpha"] = float(module.negative_slope)
    return [Activation(ACTIVATIONS[name], attributes)]


def _model(layers: Sequence[Layer], metadata: dict[str, str]) -> bytes:
    """The ONNX file of a network."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise MissingExtraError(
            f"writing a policy needs onnx; get it with: {install('onnx')}"
        ) from None
    nodes, constants, name = [], [], INPUT
    sizes = [np.shape(layer.W) for layer in layers if isinstance(layer, Linear)]

    def constant(label: str, value: ArrayLike) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value, dtype=np.float32), label))
        return label

    for k, layer in enumerate(layers):
        after = OUTPUT if k == len(layers) - 1 else f"x{k + 1}"
        if isinstance(layer, Linear):
            weights = [constant(f"W{k}", layer.W), constant(f"b{k}", layer.b)]
            nodes.append(helper.make_node("Gemm", [name, *weights], [after], transB=1))
        elif layer.operator == "Clip":
            ends = [constant(f"{end}{k}", layer.attributes[end]) for end in ("min", "max")]
            nodes.append(helper.make_node("Clip", [name, *ends], [after]))
        else:
            nodes.append(helper.make_node(layer.operator, [name], [after], **layer.attributes))
        name = after
    given, found = (
        helper.make_tensor_value_info(label, TensorProto.FLOAT, ["batch", size])
        for label, size in ((INPUT, sizes[0][1]), (OUTPUT, sizes[-1][0]))
    )
    graph = helper.make_graph(nodes, "policy", [given], [found], constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
        producer_name="robosim",
    )  # fmt: skip
    for key, value in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
