"""What is wrong with a model, before any step."""
