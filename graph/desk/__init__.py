"""The desk: pages for the people who answer for the rules. It shows and asks; others decide."""
