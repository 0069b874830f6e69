"""Measures of decisions: arrays go in, numbers come out. Nothing here runs a graph."""
