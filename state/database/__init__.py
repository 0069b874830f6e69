"""Rows in SQLite or PostgreSQL: tables, migrations, hashes, and one writer at a time.

It does not know what the rows mean; that is in `ledger`.
"""
