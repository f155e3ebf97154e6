"""Pieces of URDF for tests."""

from __future__ import annotations

INERTIAL = (
    '<inertial><origin xyz="0 0 0"/><mass value="1"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'


def link_xml(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint_xml(
    name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{inside}</joint>"
    )


def robot_xml(*parts: str, name: str = "r") -> str:
    return f'<?xml version="1.0"?><robot name="{name}">{"".join(parts)}</robot>'
