"""The reflector node: from one judged decision to one heuristic, or to nothing."""
