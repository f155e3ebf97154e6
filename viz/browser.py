"""A headless Chromium, controlled by Playwright, for tests and measurements of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robosim.errors import ViewerError
from robosim.version import install

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Software rendering works without a display, and gives the same picture everywhere.
FLAGS = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
ADVICE = (
    f"it takes Playwright ({install('browser')}) and a Chromium: the system's own "
    "(apt install chromium), or: playwright install chromium"
)


def find_browser() -> str | None:
    """The path of a Chromium of the system, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def headless(**options: Any) -> Iterator[Any]:
    """A Playwright browser, closed at the end.

    Raises
    ------
    ViewerError
        If Playwright or a browser is missing, with what to do about it.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise ViewerError(f"there is no browser to draw with: {ADVICE}") from None
    flags = [*FLAGS, *options.pop("args", ())]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # needed to run as root
    with sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=find_browser(), args=flags, **options)
        except Error as error:
            reason = str(error).strip().splitlines()[0]
            raise ViewerError(f"the browser does not start ({reason}): {ADVICE}") from None
        try:
            yield browser
        finally:
            browser.close()
