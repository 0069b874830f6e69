"""Labelled data: files, generated transactions, splits. Nothing in this folder learns."""
