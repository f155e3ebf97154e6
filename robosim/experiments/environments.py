"""Environment steps per second, compared with MuJoCo's batches and Gymnasium's vector class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.environments import Peer, around_physics, ours, per_second
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run_speed(setup: Setup) -> Result:
    """Environment steps per second and core."""
    counts, seconds = setup.choose(((1, 8, 64, 512), 7.0), ((1, 8), 0.1))
    rates: dict[str, list[float]] = {"robosim": []}
    theirs: dict[str, list[float]] = {}
    for n in counts:
        setup.note(f"{n} environments")
        rates["robosim"].append(per_second(ours(n, 5), n, seconds))
        if setup.mujoco:
            peer = Peer(n)
            for name in ("batch", "rollout", "gymnasium"):
                step = getattr(peer, name)()
                theirs.setdefault(f"mujoco, {name}", []).append(per_second(step, n, seconds))
    around = around_physics(counts[-2 if len(counts) > 2 else -1], 5, seconds)
    targets = [Target("part of a step that is not physics", around, 0.1)]
    told = ", ".join(f"{n}: {rate:.0f}" for n, rate in zip(counts, rates["robosim"], strict=True))
    sentence = f"Steps of A1Walk per second and core, by number of environments: {told}"
    if theirs and 64 in counts:
        k = counts.index(64)
        ratio = rates["robosim"][k] / theirs["mujoco, batch"][k]
        targets.append(Target("of mujoco.batch at 64", ratio, 4.0, "times", at_least=True))
        sentence += f"; at 64, {ratio:.2f} times the rate of mujoco.batch"
    sentence += f". Of a step, {100 * around:.0f} % are not physics."

    def draw(figure: Figure) -> None:
        axis = panels(figure, 1, 1)[0, 0]
        for (name, row), colour in zip(
            {**rates, **theirs}.items(), (COLOURS["ours"], *OTHERS), strict=False
        ):
            axis.loglog(counts, row, "o-", color=colour, label=name)
        finish(axis, "environments", "environment steps per second and core", "A1Walk")

    peers = {"mujoco": {"settings": "defaults, implicitfast", "per_second": theirs}}
    return Result(
        {"environments": counts, "steps_per_action": 5},
        {"per_second": rates, "not_physics": around},
        peers if theirs else {},
        tuple(targets),
        sentence,
        draw,
    )


GYM_SPEED = Experiment(
    ("gym-speed",),
    "environment steps per second of A1Walk, beside MuJoCo's batches and Gymnasium's vectors",
    "four times mujoco.batch at 64 environments; a tenth at most is not physics",
    run_speed,
)
