"""Whole tables: decide and backtest every row with a playbook, here or on a user's engine."""
