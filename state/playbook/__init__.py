"""The bullets in memory, in step with the database, in the form that selection computes on.

Nothing here decides, learns or chooses.
"""
