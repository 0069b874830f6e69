"""Rows in SQLite or PostgreSQL: tables, migrations, one writer at a time, hashes.

It does not know what the rows mean; that is in `ledger`.
"""
