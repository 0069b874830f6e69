"""Work on a whole playbook that learns nothing: versions, audit, backup, pruning, erasure.

Work that learns again is in `graph/operations`.
"""
