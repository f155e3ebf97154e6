"""A URDF that tells orders and conventions apart: branches, fixed joints, every joint type."""

from __future__ import annotations

from pathlib import Path

# joint, type, parent, child, origin xyz, origin rpy, rest. No order of siblings is alphabetical,
# neither by joint nor by link; fixed joints decide where what hangs on them comes.
JOINTS = (
    ("zeta", "revolute", "base", "a_link", "0.1 0 -0.2", "0.1 0.2 0.3", "0 1 0"),
    ("mast", "fixed", "base", "mast_link", "0 0.1 0.3", "0.3 -0.2 0.1", None),
    ("beta", "continuous", "base", "z_link", "0 -0.2 0.1", "0.4 0 0.7", "0 0.6 0.8"),
    ("xi", "prismatic", "mast_link", "m_link", "0 0 0.1", "0 0 0", "1 2 -2"),
    ("Gamma", "continuous", "mast_link", "B_link", "0 0.1 0.2", "0 1.1 0", "-1 0 0"),
    ("plate", "planar", "m_link", "p_link", "0 0.3 0.2", "0.3 0.1 0.2", "0 0 1"),
    ("alpha", "revolute", "z_link", "k_link", "0.2 0 0", "0 0 0", "1 0 0"),
    ("abc", "fixed", "z_link", "tool", "0.1 0.1 0", "1 0 0", None),
    ("aa", "prismatic", "tool", "slider", "0 0 0.3", "0 0.5 0", "0 0 1"),
)
# Not for MuJoCo, which has these at the root only.
FLOATING = ("loose", "floating", "B_link", "f_link", "0.1 0.3 0.2", "0.3 0.1 0.2", None)
# Not for MuJoCo, which would take z.
TURNED_OVER = ("tray", "planar", "a_link", "t_link", "0 0.1 0", "0.1 0 0.2", "0 0 -1")


def _link(name: str, k: int) -> str:
    return f"""
  <link name="{name}"><inertial>
    <origin xyz="{0.02 * k} {0.1 - 0.03 * k} 0.05" rpy="0.{k} 0.1 -0.{k}"/>
    <mass value="{1 + 0.3 * k}"/>
    <inertia ixx="{0.03 + 0.002 * k}" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"/>
  </inertial></link>"""


def _joint(
    name: str, kind: str, parent: str, child: str, xyz: str, rpy: str, axis: str | None
) -> str:
    limited = kind in ("revolute", "prismatic")
    return f"""
  <joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{xyz}" rpy="{rpy}"/>{f'<axis xyz="{axis}"/>' if axis else ""}
    {'<limit lower="-0.7" upper="1.2" effort="9" velocity="9"/>' if limited else ""}
  </joint>"""


def write(folder: Path, *more: tuple[str, str, str, str, str, str, str | None]) -> Path:
    """The robot's file, with `more` joints and their links."""
    joints = (*JOINTS, *more)
    links = ["base", *(joint[3] for joint in joints)]
    text = "".join(_link(name, k % 8) for k, name in enumerate(links))
    text += "".join(_joint(*joint) for joint in joints)
    path = folder / "branched.urdf"
    path.write_text(f'<robot name="branched">{text}\n</robot>\n', encoding="utf-8")
    return path
