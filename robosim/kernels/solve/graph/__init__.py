"""Newton directions of any mechanism, with all multipliers, by elimination along its graph."""
