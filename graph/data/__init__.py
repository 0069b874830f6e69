"""Labelled data: files, generated transactions, splits, and what is read from a row.

Nothing here learns.
"""
