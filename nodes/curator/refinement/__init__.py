"""Refinement: the whole playbook seen as one model; a better one is taken over if proved."""
