"""The pages of the desk: one module for each entry of its menu."""
