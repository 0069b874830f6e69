"""One ruleset decides: prior, rules and scale of risk as points, over values and over columns."""
