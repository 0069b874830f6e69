"""One run of the graph: its typed state, settings and modes, and the forms of answers.

Nothing here opens a database or calls a model: the nodes do that.
"""
