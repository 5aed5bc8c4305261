"""Agents written for Kolkhoz alone."""
