"""Change the policy of a node: propose a change, and approve one that waits for a second person.

What raises the risk that is accepted waits until somebody else has approved it; what lowers it acts
at once. Where there is only one person, the change says so, and the history keeps it.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final

from acegraph.state import BulletPlaybook, InvalidSettings
from acegraph.state.database.encoding import now
from acegraph.state.database.kept_values import forget, keep, kept_value
from acegraph.state.maintenance.people.second_person import check_alone
from acegraph.state.run.review_answers import is_same_name
from acegraph.state.task.policy import HEEDED, Policy
from acegraph.state.values import CostMatrix

_WAITING: Final = "policy:"
_SAFER: Final[dict[str, Callable[[float, float], bool]]] = {
    "base_rate": float.__ge__,
    "limit": float.__le__,
    "review_from": float.__le__,
    "review_to": float.__ge__,
    "explore": float.__le__,
    "judge_bar": float.__ge__,
    **dict.fromkeys(("missed_fraud", "missed_fee"), float.__ge__),
    **dict.fromkeys(("false_decline", "decline_fee", "approved_honest"), float.__le__),
}
"""How a number moves that lets no more fraud through: new compared with old."""


@dataclass(frozen=True)
class Proposal:
    """A change of a policy."""

    content: dict[str, object]
    """The whole policy as it would be, as far as it is not as usual."""
    expected_version: int
    by: str
    why: str
    at: str
    looser: tuple[str, ...] = ()
    """What of it accepts more risk, and so waits."""


def propose(
    playbook: BulletPlaybook,
    node: str,
    changes: Mapping[str, object],
    by: str,
    why: str,
    *,
    alone: bool = False,
) -> Proposal:
    """Change a policy, or leave the change to a second person; None takes a value back."""
    if alone:
        check_alone(playbook.database)
    if unknown := changes.keys() - set(HEEDED):
        raise InvalidSettings(
            f"policy: no {', '.join(sorted(unknown))}; there are {', '.join(HEEDED)}"
        )
    old = playbook.policy(node)
    usual = asdict(Policy())
    given = {name: usual[name] if value is None else value for name, value in changes.items()}
    if any(changes.get(name) is not None for name in ("costs", "limit")):
        given = {"costs": None, "limit": None, **given}  # one of them decides
    new = replace(Policy.from_json({**old.to_json(), **given}), version=old.version)
    if new == old:
        raise InvalidSettings("policy: it says so already")
    content = {name: value for name, value in new.to_json().items() if name != "version"}
    looser = tuple(_looser(old, new))
    proposal = Proposal(content, old.version, by, why, now(), looser)
    if looser and not alone:
        keep(playbook.database, _WAITING + node, asdict(proposal))
    else:
        _store(playbook, node, proposal, approved_by=by if looser else "")
    return proposal


def waiting_policy(playbook: BulletPlaybook, node: str) -> Proposal | None:
    """The change of a policy that waits for a second person, if one does."""
    kept = kept_value(playbook.database, _WAITING + node)
    return Proposal(**{**kept, "looser": tuple(kept["looser"])}) if kept else None


def approve_policy(playbook: BulletPlaybook, node: str, by: str) -> Proposal:
    """Put the change that waits into force; whoever proposed it cannot."""
    proposal = waiting_policy(playbook, node)
    if proposal is None:
        raise InvalidSettings("no change of the policy waits for approval")
    if is_same_name(proposal.by, by):
        raise InvalidSettings(f"{proposal.by} proposed it and cannot approve it: ask somebody else")
    _store(playbook, node, proposal, approved_by=by)
    forget(playbook.database, _WAITING + node)
    return proposal


def _store(playbook: BulletPlaybook, node: str, proposal: Proposal, approved_by: str) -> None:
    playbook.declare(
        "policy",
        node,
        proposal.content,
        expected_version=proposal.expected_version,
        by=proposal.by,
        reason=proposal.why,
        approved_by=approved_by,
    )


def _looser(old: Policy, new: Policy) -> list[str]:
    """What of a change may accept more risk: all that is not known to accept less."""
    before, after = ({**asdict(one), **_costs(one)} for one in (old, new))
    names = [name for name in HEEDED if name not in ("costs", "shadow")] + list(_costs(new))
    if (old.costs is None) != (new.costs is None):  # another threshold, and nobody knows which way
        return ["costs"]
    return [n for n in names if before[n] != after[n] and not _is_safer(n, before[n], after[n])]


def _costs(policy: Policy) -> dict[str, float]:
    return asdict(CostMatrix(**(policy.costs or {})))


def _is_safer(name: str, before: object, after: object) -> bool:
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return False
    return name in _SAFER and _SAFER[name](float(after), float(before))
