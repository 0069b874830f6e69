"""Switch a bullet off, and on again, as a person asks for it."""

from acegraph.state import BulletPlaybook, Status
from acegraph.state.errors import InvalidInput


def retire(playbook: BulletPlaybook, bullet_id: str, reason: str, by: str) -> bool:
    """Switch a bullet off; False if it was off before."""
    return _switch(playbook, bullet_id, "retired", reason, by)


def restore(playbook: BulletPlaybook, bullet_id: str, reason: str, by: str) -> bool:
    """Switch a retired bullet on; one that waited for approval waits again. False if it was on."""
    with playbook.writing():
        if playbook.get_bullet(bullet_id).status == "candidate":
            raise InvalidInput(f"{bullet_id} waits for approval: 'acegraph review {bullet_id}'")
        statuses: list[Status] = [row["status"] for row in playbook.history(bullet_id)]
        in_use = (status for status in reversed(statuses) if status in ("active", "candidate"))
        return _switch(playbook, bullet_id, next(in_use, "active"), reason, by)


def _switch(playbook: BulletPlaybook, bullet_id: str, status: Status, reason: str, by: str) -> bool:
    with playbook.writing():
        is_new = playbook.get_bullet(bullet_id).status != status
        if is_new:
            playbook.set_status(bullet_id, status, reason, by)
        return is_new
