"""The commands for whoever keeps it running: the service, its users, streams, what waits."""
