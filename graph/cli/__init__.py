"""The command line. A command reads options, calls one function of the package, and prints."""
