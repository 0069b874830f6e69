"""What a LangGraph server needs besides the graph: users, guarded paths, safe checkpoints."""
