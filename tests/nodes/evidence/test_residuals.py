"""The line that fits log-odds to labels best."""

import numpy as np
import pytest

from acegraph.nodes.evidence.residuals import best_line, sigmoid


@pytest.mark.parametrize("rate", [0.5, 0.02, 0.001])
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_no_other_line_fits_better(rate: float, factor: float) -> None:
    rng = np.random.default_rng(3)
    log_odds = rng.normal(2.0, 1.5, 20_000)
    shares = rng.uniform(0.5, 8.0, len(log_odds))
    fraud = rng.random(len(log_odds)) < sigmoid(factor * (log_odds - 2) + np.log(rate / (1 - rate)))
    slope, shift = best_line(fraud, log_odds, shares)
    rest = shares * (fraud - sigmoid(slope * log_odds + shift))
    assert slope == pytest.approx(factor, rel=0.35)
    assert rest.sum() == pytest.approx(0, abs=1e-4 * (shares @ fraud))
    assert rest @ log_odds == pytest.approx(0, abs=1e-4 * (shares @ fraud))


def test_log_odds_that_say_the_opposite_count_for_nothing() -> None:
    log_odds = np.tile([-1.0, 1.0], 100)
    slope, shift = best_line(log_odds < 0, log_odds, np.ones(len(log_odds)))
    assert slope == 0
    assert shift == pytest.approx(0, abs=1e-6)
