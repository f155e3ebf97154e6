"""Where two shapes may touch: features of pairs, found at the first knot of a step."""
