"""Learning outside of a decision: again after a purge, and in trials."""
