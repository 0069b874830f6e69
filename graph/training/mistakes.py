"""Which labelled cases a playbook gets wrong, with all of its active rules."""

import numpy as np

from acegraph.nodes.evidence.residuals import Mask
from acegraph.nodes.rules.columns import declined_over
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.run.modes import settle
from acegraph.state.values.cases import CaseTable


def mistakes_over(cases: CaseTable, playbook: BulletPlaybook, context: AceContext) -> Mask:
    """Where the decision on a case is not its label."""
    ruleset = Ruleset.of(playbook, settle(playbook, context))
    return np.asarray(declined_over(ruleset, cases) != cases.fraud)
