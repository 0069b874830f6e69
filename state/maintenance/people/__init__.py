"""People: users of the service and the desk, their sessions, and what they look at."""
