"""Audits: the same robot, start and controls in several simulators, and whose fault what is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robosim.referee.audit.auditing import Audit, audit

__all__ = ["Audit", "audit"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, as the processes of simulators import this package, too.
    if name in __all__:
        from robosim.referee.audit import auditing

        return getattr(auditing, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
