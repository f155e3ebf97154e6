"""The process in which a simulator runs: reads jobs from its input, answers on its output.

An answer is an `Opened`, a `Run`, or a `Failed`; a question ("ask", k, time, q, v) waits for
torques. What the simulator prints goes to the standard error.
"""

from __future__ import annotations

import os

from robosim.errors import ControllerError, RobosimError
from robosim.referee.audit.adapters import opened_peer
from robosim.referee.audit.messages import receive, send
from robosim.referee.audit.playing import play
from robosim.referee.audit.runs import Array, Failed


def main() -> None:
    """Open the robot's file in the simulator, then do one job after the other."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # simulators print
    name, adapter, source = receive(questions)
    try:
        peer = opened_peer(adapter, source)
    except Exception as error:  # of any library
        why = str(error) if isinstance(error, RobosimError) else f"{type(error).__name__}: {error}"
        send(answers, Failed(name, "", " ".join(why.split()), "cannot load"))
        return

    def ask(k: int, time: float, q: Array, v: Array) -> Array:
        send(answers, ("ask", k, time, q, v))
        answer: Array | str = receive(questions)
        if isinstance(answer, str):
            raise ControllerError(answer)
        return answer

    send(answers, peer.opened())
    while True:
        try:
            job = receive(questions)
        except EOFError:
            return
        try:
            send(answers, play(peer, job, ask))
        except EOFError:
            return
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            send(answers, Failed(name, job.label, why, "failed"))


if __name__ == "__main__":
    main()
