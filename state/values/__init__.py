"""Plain values without a database: transactions, verdicts, conditions, bullets, decisions.

What belongs to one run of the graph is in `run`; stored values are in `ledger` and `playbook`.
"""
