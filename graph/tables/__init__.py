"""Whole tables: decide and backtest every row with a playbook."""
