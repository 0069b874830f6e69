"""The selector node: five stages from all bullets of a task to the few that the agent sees."""
