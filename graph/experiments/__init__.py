"""Experiments on learning: every way of deciding on the same cases, baselines, duels, reports."""
