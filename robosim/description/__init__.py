"""Descriptions of mechanisms and their parts, validated when built, independent of simulations."""
