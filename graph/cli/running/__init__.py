"""The commands of daily work: decisions and labels, what waits, the service, the ledger."""
