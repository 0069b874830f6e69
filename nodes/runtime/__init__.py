"""How a node runs: synchronous or not, metered, stopped for a person, with what it passes on."""
