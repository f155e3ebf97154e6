"""Robots and mechanisms that ship, and their builders."""
