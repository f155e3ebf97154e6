"""Model files to Mechanism."""
