"""The name of a robot and the time, in a corner of a picture."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robosim.extras import needed

Picture = NDArray[np.uint8]

MARGIN, INSET, RADIUS = 12, 12, 8  # [pixels]
NAME, TIME = 13, 17  # sizes of letters [pixels]
INK, PAPER = (36, 48, 60), (255, 255, 255, 225)
SMALLEST = 240  # pixels along the shorter edge of a picture with room for it


def captioned(picture: Picture, name: str, time: float) -> Picture:
    """A copy of a picture (height, width, 3) with a name and a time [s], if there is room."""
    if min(picture.shape[:2]) < SMALLEST:
        return picture
    Image, ImageDraw, ImageFont = (
        needed(f"PIL.{name}", "names in pictures need Pillow", "pictures")
        for name in ("Image", "ImageDraw", "ImageFont")
    )
    fonts = [ImageFont.load_default(size) for size in (NAME, TIME)]
    lines = (name, fonts[0]), (f"t = {time:.2f} s", fonts[1])
    # Figures change from picture to picture, and the box does not.
    widest = max(fonts[0].getlength(name), fonts[1].getlength("t = 000.00 s"))
    width, height = math.ceil(widest) + 2 * INSET, NAME + TIME + 3 * INSET
    box = np.s_[MARGIN : MARGIN + height + 1, MARGIN : MARGIN + width + 1]
    under = Image.fromarray(picture[box]).convert("RGBA")
    over = Image.new("RGBA", under.size)
    pen = ImageDraw.Draw(over)
    pen.rounded_rectangle((0, 0, width, height), RADIUS, fill=PAPER)
    y = INSET - 2
    for text, font in lines:
        pen.text((INSET, y), text, fill=INK, font=font)
        y += NAME + INSET - 2
    out = picture.copy()
    out[box] = np.asarray(Image.alpha_composite(under, over).convert("RGB"))
    return out
