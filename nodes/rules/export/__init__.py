"""A ruleset written down for others: as Python, as a decision model, as JSONLogic."""
