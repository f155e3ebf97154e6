"""What fills the records of a model from a description."""
