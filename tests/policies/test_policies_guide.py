"""The guide to policies names every quantity, key, preset and measure."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import yaml

from robosim.policies import PRESETS, QUANTITIES, Measures, task_of
from robosim.policies.layout import Layout
from robosim.policies.quantities import ALIASES
from robosim.policies.task import KEYS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/policies.md").read_text(encoding="utf-8")


def named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def section(title: str) -> str:
    begin = GUIDE.index(f"# {title}")
    return GUIDE[begin : GUIDE.index("\n#", begin)]


def test_all_quantities_and_keys_are_in_the_guide():
    assert set(QUANTITIES) <= named(section("Observations"))
    assert {ALIASES[name] for name in ALIASES} <= set(QUANTITIES)
    assert set(KEYS) | {"preset"} <= named(section("The task file"))
    assert set(PRESETS) <= named(section("Presets"))


def test_task_files_of_the_guide_are_read(a1, tmp_path):
    for k, text in enumerate(re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)):
        said = yaml.safe_load(text)
        file = tmp_path / f"{k}.yaml"
        file.write_text(text if "preset" in said else f"preset: mjlab\n{text}")
        task = task_of(file)
        if "preset" in said:
            assert Layout(a1, task).pd(task.timestep).gains["kp"].tolist() == [20.0] * 12


def test_all_measures_are_in_the_table_of_json():
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    begin = text.index("\n## play")
    names = named(text[begin : text.index("\n## ", begin + 5)])
    assert {field.name for field in fields(Measures)} <= names
