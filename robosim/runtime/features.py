"""Compiles the features that a model needs, and writes their addresses to `Model.calls`."""

from __future__ import annotations

from typing import Any

from numba import types

from robosim.compiled.kinds import (
    ADMIT_FEATURES,
    BOUNCE,
    CHOOSE_FEATURES,
    CLOSES,
    COUPLED_FACTORS,
    COUPLED_RATES,
    FIT_FRICTION,
    SETTLE_BOUNDS,
    STRIKES,
    TIED_FACTORS,
    TIED_MOTION,
    TIED_SWEEPS,
)
from robosim.compiled.model import Model
from robosim.kernels.compiler.addresses import TYPES
from robosim.kernels.compiler.dense import dense
from robosim.kernels.compiler.features import feature_for, number_in
from robosim.kernels.compiler.parts import address_of, compile_part, find_compiled

_COMPILED: dict[tuple[int, int, bool], Any] = {}  # place, kind of parts, tree -> compiled feature


def needed(model: Model, accurate: bool) -> list[int]:
    """Places in `Model.calls` of the features that a model needs, for `accurate` steps or not."""
    places = []
    if accurate and model.n_slots:
        places += [CLOSES]
    if len(model.collision.pairs):
        places += [CHOOSE_FEATURES, ADMIT_FEATURES]
    if len(model.restitution):
        places += [STRIKES, BOUNCE]
    if len(model.bearings.joint):
        places += [SETTLE_BOUNDS, FIT_FRICTION]
    if model.tree and len(model.loops.ties):
        places += [TIED_MOTION, TIED_FACTORS, TIED_SWEEPS]
    if model.tree and model.couples_bodies:
        places += [COUPLED_FACTORS, COUPLED_RATES]
    return places


def provide(model: Model, kind: int, scheme: Any, info: Any, accurate: bool = False) -> None:
    """Compile the features that a model needs, for parts of a kind, and write their addresses."""
    for place in needed(model, accurate):
        key = place, kind, model.tree
        if key not in _COMPILED:
            on = dense(TYPES[kind])
            known = dict(zip(on.fields, on.types, strict=True)) | {
                "scheme": types.Module(scheme),
                "info": info,
            }
            memory, work = known["memory"], known["work"]
            known |= dict(zip(memory.fields, memory.types, strict=True))
            known["x"] = work.types[work.fields.index("rhs")]
            number = number_in(known["state"])
            one = feature_for(place, number)
            signature = one.kinds(known, number)
            compiled = find_compiled(one.part, signature) or compile_part(one.part, signature)
            _COMPILED[key] = compiled
        model.calls[place] = address_of(_COMPILED[key])
