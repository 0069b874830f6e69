"""The only place that talks to language and embedding models: clients, retries, fences.

Each prompt lives in the folder of the node that uses it.
"""
