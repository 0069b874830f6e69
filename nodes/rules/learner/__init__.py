"""One learner: the rules that explain labelled cases best, for a whole table or one mistake."""
