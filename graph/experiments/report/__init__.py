"""The report of an experiment as a file: one HTML page to send or to print."""
