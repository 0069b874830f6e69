"""What the rule lab works with: how a sentence may go on, and what another cut would do."""
