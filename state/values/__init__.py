"""Plain values without a database: transactions, verdicts, conditions, bullets, decisions.

What belongs to one run of the graph is in `run`; what is stored is in `ledger` and `playbook`.
"""
