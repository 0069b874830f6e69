"""The columns of the labelled cases: which may be in rules, which name somebody, where to cut, and
whether they tell the labels apart at all.
"""
