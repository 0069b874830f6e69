"""The columns of rows to learn from, beside the fields that a playbook knows already.

A column that only writes a known name otherwise gets the known name, as in live payments. What is
new or missing is said. Rows that share no field with the playbook are refused: no rule of either
could ever be asked on the payments of the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from acegraph.graph.data.files import Item
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.nodes.text.field_contract import DATE_PARTS, FieldContract
from acegraph.nodes.text.reader import read_fields
from acegraph.state import BulletPlaybook, InvalidDataset, Transaction
from acegraph.state.values.memos import is_memo

_NAMED: Final = 8
"""So many columns are named; the others are counted."""


def under_known_names(
    items: Sequence[Item], playbook: BulletPlaybook, node: str
) -> tuple[list[Item], Mapping[str, str], str]:
    """The rows under the names that the playbook knows, which names these replace, and how the
    columns differ from it.
    """
    table = playbook.cases(node)
    contract = FieldContract.of(table)
    columns = _columns_of(items) if contract.fields else []
    if not columns:
        return list(items), {}, ""
    meant = {name: known for name in columns if (known := contract.known_name(name))}
    renamed = {
        name: known
        for name, known in meant.items()
        if known not in columns and list(meant.values()).count(known) == 1
    }
    columns = [renamed.get(name) or name for name in columns]
    for_rules = learnable_fields(table)  # an id that both have is no common ground
    if for_rules and set(for_rules).isdisjoint(columns):
        raise InvalidDataset(
            f"these rows have none of the fields that the playbook learned from "
            f"({_some(_given(for_rules))}): learn them into another playbook (--playbook), since "
            "no rule could be asked on both"
        )
    rows = [_renamed(item, renamed) for item in items] if renamed else list(items)
    said = [f"{name} is taken for {known}" for name, known in renamed.items() if "." not in name]
    said += _differences(columns, contract, playbook, node)
    differences = f"other columns than the playbook knows: {'; '.join(said)}" if said else ""
    return rows, renamed, differences


def _columns_of(items: Sequence[Item]) -> list[str]:
    """The fields that at least one row has, parts of dates included."""
    rows = (read_fields(Transaction.of(item["query"])) for item in items)
    return list(dict.fromkeys(n for row in rows for n, value in row.items() if value is not None))


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    given = item["query"]
    if not isinstance(given, Mapping):
        return item
    fields = {names.get(name) or name: value for name, value in given.items()}
    renamed = {**item, "query": fields}
    if amounts := item.get("given"):
        renamed["given"] = {names.get(n) or n: value for n, value in amounts.items()}
    if named := item.get("amount_field"):
        renamed["amount_field"] = names.get(named) or named
    if seen := item.get("sighting_columns"):
        renamed["sighting_columns"] = {what: names.get(n) or n for what, n in seen.items()}
    return cast(Item, renamed)


def _differences(
    columns: Sequence[str], contract: FieldContract, playbook: BulletPlaybook, node: str
) -> list[str]:
    """Which columns are new, which are missing, and how many bullets test missing ones."""
    rules = [b for b in playbook.get_bullets_for_node(node) if b.condition]
    tested = {name for b in rules if b.condition for name in b.condition.fields}
    lacking = contract.fields.keys() - set(columns)
    missing = [n for n, known in contract.fields.items() if n in lacking and known.is_usual]
    missing += [n for n in contract.fields if n in lacking & tested and n not in missing]
    new = [n for n in columns if n not in contract.fields and not is_memo(n)]
    said = [f"new: {_some(_given(new))}"] if new else []
    if missing:
        mute = sum(bool(lacking.intersection(b.condition.fields)) for b in rules if b.condition)
        tests = f", and {mute} of {len(rules)} active bullets test them" if mute else ""
        said.append(f"missing: {_some(_given(missing))}{tests}")
    return said


def _given(names: Sequence[str]) -> list[str]:
    """The names without parts of dates whose date is among them."""
    return [
        n
        for n in names
        if n.rpartition(".")[0] not in names or n.rpartition(".")[2] not in DATE_PARTS
    ]


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + rest
