"""Sightings, which are payments as later payments see them, and the fields derived from them."""
