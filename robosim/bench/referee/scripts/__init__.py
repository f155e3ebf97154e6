"""Scripts of the referee, one for each motion and simulator; each runs by itself."""
