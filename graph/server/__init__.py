"""The HTTP service, and what a LangGraph server needs: users, guarded paths, safe checkpoints."""
