"""Cases, decisions, labels and counters in one order, each counted exactly once.

Bullets in memory are in `playbook`; work on a whole ledger is in `maintenance`.
"""
