"""Measures of decisions: rates, rankings, intervals, paired tests, money.

Plain numbers in and out: nothing here reads a file or runs a graph.
"""
