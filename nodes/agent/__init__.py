"""The agent node: APPROVE or DECLINE for one transaction, with a risk score and reasons."""
