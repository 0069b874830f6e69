"""Values that must not be stored: hide them in a transaction, in any spelling."""
