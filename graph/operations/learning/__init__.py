"""Learning outside of a decision: in the background, again after a purge, and in trials."""
