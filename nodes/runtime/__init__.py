"""How a node runs: synchronous or asynchronous, metered, and interrupted to ask a person."""
