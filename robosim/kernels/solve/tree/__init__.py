"""Newton directions of a tree in the motions of its joints, by elimination along them."""
