"""The judge node: whether a decision was right, by a label, a model or a person."""
