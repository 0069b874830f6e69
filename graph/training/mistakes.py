"""Which labelled cases a playbook gets wrong, with all of its active rules."""

import numpy as np

from acegraph.nodes.evidence.residuals import Mask
from acegraph.nodes.evidence.stakes import amounts_over
from acegraph.nodes.rules.points import UNIT, log_odds_over
from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.run.costs import CostMatrix
from acegraph.state.values.cases import CaseTable


def mistakes_over(cases: CaseTable, playbook: BulletPlaybook, context: AceContext) -> Mask:
    """Where the decision on a case is not its label."""
    bullets, known = playbook.get_bullets_for_node(context.node), playbook.cases(context.node)
    costs = CostMatrix.parse(context.costs) if context.costs else None
    scale = RiskScale.of(known, bullets, costs, context.base_rate)
    points = np.rint(log_odds_over(cases, bullets) * UNIT)
    declined = points > scale.limits(amounts_over(cases))
    return np.asarray(declined != cases.fraud)
