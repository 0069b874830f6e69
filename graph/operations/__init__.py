"""What is done to a live playbook outside a run: labels, reviews, replays, purges, transfers."""
