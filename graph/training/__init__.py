"""The training pipeline: learn from history, learn from a stream, measure, compare."""
