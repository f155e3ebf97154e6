"""Control on exact derivatives of steps: LQR, and iLQR through contacts; see docs/optimizing.md."""

from robosim.optimize.costs import Cost, Expansion, QuadraticCost
from robosim.optimize.feedback import Feedback
from robosim.optimize.ilqr import ilqr
from robosim.optimize.lqr import lqr
from robosim.optimize.predictive import MPC
from robosim.optimize.solution import Solution

__all__ = ["MPC", "Cost", "Expansion", "Feedback", "QuadraticCost", "Solution", "ilqr", "lqr"]
