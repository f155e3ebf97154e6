"""What experiments and benchmarks measure with: targets, samples of runs, and common starts."""
