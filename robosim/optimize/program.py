"""A sparse nonlinear program of repeated blocks, solved by IPOPT."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.errors import OptionError
from robosim.optimize.local import Compiled, Local, Pattern
from robosim.optimize.symbolic import ca
from robosim.progress import Advance
from robosim.validation import Array

STATUS = {
    "Solve_Succeeded": "converged",
    "Solved_To_Acceptable_Level": "acceptable",
    "Infeasible_Problem_Detected": "infeasible",
    "Maximum_Iterations_Exceeded": "iterations",
    "Maximum_CpuTime_Exceeded": "iterations",
    "Invalid_Number_Detected": "not finite",
    "Not_Enough_Degrees_Of_Freedom": "too many equations",
    "User_Requested_Stop": "stopped",
    "Diverging_Iterates": "diverged",
}


class Block(NamedTuple):
    """The functions of a block, and its repetitions with different unknowns and parameters."""

    functions: Compiled
    unknowns: NDArray[np.int64]  # (nz, count)
    given: int  # number of parameters of a repetition


class Answer(NamedTuple):
    """The result of IPOPT."""

    w: Array
    lam_w: Array
    lam_g: Array
    cost: float
    status: str
    said: str
    iterations: int
    seconds: dict[str, float]


class Program:
    """A nonlinear program of unknowns w and parameters, with costs and rows in blocks.

    Parameters
    ----------
    unknowns : int
    blocks : list of (Local, (nz, count) indices)
    """

    def __init__(self, unknowns: int, blocks: list[tuple[Local, NDArray[np.int64]]]) -> None:
        self.unknowns = unknowns
        self.blocks = [
            Block(local.compile(), np.asarray(at), local.given.shape[0]) for local, at in blocks
        ]
        rows = [(block.functions.rows, block.unknowns.shape[1]) for block in self.blocks]
        self.names = np.array([n for own, count in rows for n in own.names * count], dtype=object)
        self.lower = np.concatenate([np.tile(own.lower, count) for own, count in rows])
        self.upper = np.concatenate([np.tile(own.upper, count) for own, count in rows])
        self.given = sum(block.given * block.unknowns.shape[1] for block in self.blocks)
        self._build()

    def _build(self) -> None:
        w, p = ca.MX.sym("w", self.unknowns), ca.MX.sym("p", self.given)
        sigma, lam = ca.MX.sym("sigma"), ca.MX.sym("lam", len(self.names))
        costs, rows, slopes, jacobians, hessians = [], [], [], [], []
        at_slopes: list[NDArray[np.int64]] = []
        at_jacobians: list[Pattern] = []
        at_hessians: list[Pattern] = []
        taken = first = 0
        for block in self.blocks:
            functions, unknowns = block.functions, block.unknowns
            nz, count = unknowns.shape
            z = ca.reshape(w[unknowns.ravel(order="F").tolist()], nz, count)
            size = block.given * count
            given = ca.reshape(p[taken : taken + size], block.given, count)
            taken += size
            m = len(functions.rows.names)
            cost, values = functions.value.map(count)(z, given)
            costs.append(ca.sum2(cost))
            rows.append(ca.vec(values))
            slopes.append(ca.vec(functions.slope.map(count)(z, given)))
            at_slopes.append(unknowns.ravel(order="F"))
            jacobians.append(ca.vec(functions.jacobian.map(count)(z, given)))
            own = functions.jacobian_at
            firsts = first + m * np.arange(count)
            at_jacobians.append(
                Pattern(
                    (own.row[:, None] + firsts).ravel(order="F"),
                    unknowns[own.column].ravel(order="F"),
                )
            )
            multipliers = ca.reshape(lam[first : first + m * count], m, count)
            factors = ca.repmat(sigma, 1, count)
            hessians.append(ca.vec(functions.hessian.map(count)(z, given, factors, multipliers)))
            own = functions.hessian_at
            at_hessians.append(
                Pattern(unknowns[own.row].ravel(order="F"), unknowns[own.column].ravel(order="F"))
            )
            first += m * count
        cost, g = sum(costs[1:], costs[0]), ca.vertcat(*rows)
        ones = Pattern(np.concatenate(at_slopes), np.zeros(sum(map(len, at_slopes)), np.int64))
        slope = ca.densify(summed(ones, ca.vertcat(*slopes), (self.unknowns, 1)))
        shape = len(self.names), self.unknowns
        jacobian = summed(joined(at_jacobians), ca.vertcat(*jacobians), shape)
        square = self.unknowns, self.unknowns
        hessian = summed(joined(at_hessians), ca.vertcat(*hessians), square)
        self.nlp = {"x": w, "p": p, "f": cost, "g": g}
        self.functions = {
            "grad_f": ca.Function("nlp_grad_f", [w, p], [cost, slope]),
            "jac_g": ca.Function("nlp_jac_g", [w, p], [g, jacobian]),
            "hess_lag": ca.Function("nlp_hess_l", [w, p, sigma, lam], [hessian]),
        }

    def values(self, w: Array, given: Array) -> Array:
        """Values (m,) of all rows."""
        return np.asarray(self.functions["jac_g"](w, given)[0]).ravel()

    def refuse_nan(self, w: Array, given: Array, times: list[Array]) -> None:
        """Raise an OptionError if a cost, a constraint or a derivative is not finite.

        `times` (count,) are the times of the blocks [s].
        """
        if all(
            np.all(np.isfinite(np.array(part.nonzeros())))
            for name in ("grad_f", "jac_g")
            for part in self.functions[name](w, given)
        ):
            return
        taken = 0
        for block, when in zip(self.blocks, times, strict=True):
            functions, count = block.functions, block.unknowns.shape[1]
            for k in range(count):
                own = w[block.unknowns[:, k]], given[taken : taken + block.given]
                taken += block.given
                for what, names, call in (
                    ("cost", functions.terms, functions.each),
                    ("constraint", functions.rows.names, None),
                ):
                    if call is not None:
                        value, slope = (np.array(part.full()) for part in call(*own))
                    else:
                        value = np.array(functions.value(*own)[1].full())
                        slope = np.zeros((len(names), len(own[0])))
                        at = functions.jacobian_at
                        slope[at.row, at.column] = np.array(functions.jacobian(*own).full()).ravel()
                    for i, name in enumerate(names):
                        told = f"at the guess, in the step from {when[k]:.4g} s on"
                        if not np.all(np.isfinite(value[i])):
                            raise OptionError(f"{what} '{name}' is not finite {told}")
                        if not np.all(np.isfinite(slope[i])):
                            raise OptionError(f"{what} '{name}' has no finite gradient {told}")

    def violations(self, w: Array, given: Array, lower: Array, upper: Array) -> dict[str, float]:
        """The largest violation of each constraint, and of the bounds of unknowns."""
        values = self.values(w, given)
        over = np.maximum(self.lower - values, values - self.upper)
        over = np.where(np.isnan(over), np.inf, np.maximum(over, 0.0))
        found = {name: float(over[self.names == name].max()) for name in dict.fromkeys(self.names)}
        beyond = np.maximum(np.maximum(lower - w, w - upper), 0.0)
        found["limits"] = float(beyond.max(initial=0.0))
        return found

    def solve(
        self,
        w: Array,
        given: Array,
        lower: Array,
        upper: Array,
        options: dict[str, Any],
        warm: Answer | None,
        advance: Advance,
        said: str,
    ) -> Answer:
        """Solve by IPOPT with the initial guess w."""
        watch = Watch(self.unknowns, len(self.names), self.given, advance, said)
        solver = ca.nlpsol("program", "ipopt", self.nlp, {
            **self.functions, "no_nlp_grad": True, "calc_lam_p": False, "print_time": False,
            "record_time": True, "error_on_fail": False, "show_eval_warnings": False,
            "iteration_callback": watch,
            **{f"ipopt.{name}": value for name, value in options.items()},
        })  # fmt: skip
        start = {} if warm is None else {"lam_x0": warm.lam_w, "lam_g0": warm.lam_g}
        found = solver(x0=w, p=given, lbx=lower, ubx=upper, lbg=self.lower, ubg=self.upper, **start)
        stats = solver.stats()
        said = str(stats["return_status"])
        arrays = {name: np.array(value).ravel() for name, value in found.items()}
        return Answer(
            arrays["x"], arrays["lam_x"], arrays["lam_g"], float(arrays["f"][0]),
            STATUS.get(said, "stuck"), said, int(stats["iter_count"]),
            {name[7:]: stats[name] for name in stats if name.startswith("t_wall_")},
        )  # fmt: skip


class Watch(ca.Callback):  # type: ignore[misc]
    """Updates a progress bar after each iteration."""

    def __init__(self, nx: int, ng: int, np_: int, advance: Advance, said: str) -> None:
        ca.Callback.__init__(self)
        self._sizes = {"x": nx, "f": 1, "g": ng, "lam_x": nx, "lam_g": ng, "lam_p": np_}
        self._advance, self._said = advance, said
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return str(ca.nlpsol_out(i))

    def get_name_out(self, i: int) -> str:
        return "ret"

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._sizes[ca.nlpsol_out(i)], 1)

    def eval(self, given: Any) -> list[int]:
        self._advance(1, f"{self._said}cost {float(given[1]):.6g}")
        return [0]


def joined(patterns: list[Pattern]) -> Pattern:
    """The patterns in one, in order."""
    return Pattern(*(np.concatenate(parts) for parts in zip(*patterns, strict=True)))


def summed(at: Pattern, values: Any, shape: tuple[int, int]) -> Any:
    """A sparse matrix of entries; those at equal positions are added."""
    key = at.column * shape[0] + at.row
    places, place = np.unique(key, return_inverse=True)
    sums = ca.Sparsity.triplet(len(places), len(key), place.ravel().tolist(), list(range(len(key))))
    if len(places) == len(key):
        order = np.argsort(place, kind="stable").ravel()
        gathered = values[order.tolist()]
    else:
        gathered = ca.mtimes(ca.DM(sums, 1.0), values)
    columns = places // shape[0]
    starts = np.searchsorted(columns, np.arange(shape[1] + 1))
    sparsity = ca.Sparsity(*shape, starts.tolist(), (places % shape[0]).tolist())
    return ca.MX(sparsity, gathered)
