"""The curator node: lets a heuristic into the playbook, refuses it, or keeps it for a person."""
