"""The one seam to language and embedding models: clients, retries, recordings, fences.

Prompts are beside the node that uses them.
"""
