"""Charts of a mechanism's joints, for kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import FACTORS
from robosim.compiled.records.chart import FACTOR, Charts, read_only
from robosim.description.charts import Chart
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


def place_charts(mechanism: Mechanism, joints: NDArray[np.void]) -> Charts:
    """Charts of a mechanism, which its JOINT records find by their addresses."""
    charts = [joint.own_chart for joint in mechanism.joints]
    arrays, ranges = chart_records(charts)
    if len(arrays.factors):
        factors, numbers = arrays
        joints["factors"], joints["numbers"] = factors.ctypes.data, numbers.ctypes.data
    joints["number_count"] = len(arrays.numbers)
    joints["chart_begin"][: len(ranges)], joints["chart_end"][: len(ranges)] = ranges.T
    return arrays


def chart_records(charts: Iterable[Chart | None]) -> tuple[Charts, NDArray[np.int64]]:
    """FACTOR records of all charts, and (n, 2) where those of each begin and end."""
    records: list[Any] = []
    numbers: list[Array] = [np.zeros(0)]
    ranges = []
    begin = 0
    for chart in charts:
        first = len(records)
        for factor in () if chart is None else chart.factors():
            record = np.zeros(1, dtype=FACTOR)
            record["kind"], record["begin"] = FACTORS.index(factor.kind), begin
            record["first"] = factor.first
            record["count"], record["periodic"] = factor.counts, factor.periodic
            record["twist"] = factor.twist
            records.append(record)
            numbers.append(factor.numbers)
            begin += len(factor.numbers)
        ranges.append((first, len(records)))
    factors = np.concatenate(records) if records else np.zeros(0, dtype=FACTOR)
    arrays = read_only(Charts(factors, np.concatenate(numbers)))
    return arrays, np.array(ranges, dtype=np.int64).reshape(-1, 2)
