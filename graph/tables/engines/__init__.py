"""The decision of a playbook on a user's own engine: an expression, a query, an address."""
