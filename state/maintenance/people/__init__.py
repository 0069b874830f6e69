"""People: users of the service and the desk, their sessions, what waits for them."""
