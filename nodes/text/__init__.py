"""Reading transactions and sentences: fields, words, numbers, negations, look-alike letters.

Nothing here asks a model or a database.
"""
