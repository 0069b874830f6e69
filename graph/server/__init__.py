"""What a LangGraph server needs beside the graph: users, a guarded door, safe checkpoints."""
