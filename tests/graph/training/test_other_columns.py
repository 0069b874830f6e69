"""A second file with other columns: known names are folded, differences are said, or refused."""

import pytest

from acegraph.graph import TrainingPipeline
from acegraph.nodes.text.field_contract import FieldContract
from acegraph.state import BulletPlaybook, InvalidDataset
from acegraph.state.values.file_form import FileForm

NODE = "fraud_detection"


def rows(first: int, **names: str) -> list[dict[str, object]]:
    """Large payments from abroad are fraud; `names` are those of the columns."""
    items: list[dict[str, object]] = []
    for i in range(first, first + 60):
        size, is_abroad = 10.0 + 37 * i % 200, i % 3 == 0
        fields = {"amount": size, "abroad": is_abroad, "shop": "web" if i % 2 else "store"}
        query = {names.get(name, name): value for name, value in fields.items()}
        answer = "DECLINE" if size > 100 and is_abroad else "APPROVE"
        query = {name: value for name, value in query.items() if name}
        items.append({"id": f"p{i}", "query": {**query, "id": f"p{i}"}, "answer": answer})
    return items


@pytest.fixture(scope="module")
def learned() -> BulletPlaybook:
    pipeline = TrainingPipeline()
    assert pipeline.train_offline(rows(0)).columns == ""
    return pipeline.playbook


@pytest.fixture
def trained(learned: BulletPlaybook) -> TrainingPipeline:
    return TrainingPipeline(learned.fork())


def test_a_column_in_another_spelling_is_the_known_one(trained: TrainingPipeline) -> None:
    report = trained.train_offline(rows(60, amount="Amount", shop="tx_shop"))
    assert report.columns == (
        "other columns than the playbook knows: Amount is taken for amount; tx_shop is taken for "
        "shop"
    )
    table = trained.playbook.cases(NODE)
    amount = table.column("amount")
    assert amount is not None
    assert amount.known().all()
    assert "Amount" not in table.field_names


def test_the_form_of_a_file_is_kept_under_the_known_names(trained: TrainingPipeline) -> None:
    form = FileForm({"Shop": "the day first", "new": "the day first"}, {}, "tx_amount")
    trained.train_online(rows(60, amount="tx_amount", shop="Shop"), form)
    kept = FieldContract.of(trained.playbook.cases(NODE)).form
    assert kept == FileForm({"shop": "the day first", "new": "the day first"}, {}, "amount")


def test_new_and_missing_columns_are_said_with_the_bullets_that_test_them(
    trained: TrainingPipeline,
) -> None:
    bullets = trained.playbook.get_bullets_for_node(NODE)
    testing = sum("abroad" in b.condition.fields for b in bullets if b.condition)
    assert testing
    report = trained.train_offline(rows(60, abroad="", shop="trade"))
    assert report.columns == (
        "other columns than the playbook knows: new: trade; missing: abroad, shop, and "
        f"{testing} of {len(bullets)} active bullets test them"
    )


def test_the_same_columns_are_no_news(trained: TrainingPipeline) -> None:
    assert trained.train_online(rows(60)).columns == ""


def test_a_file_without_a_common_field_is_refused_and_changes_nothing(
    trained: TrainingPipeline,
) -> None:
    before = trained.playbook.clock
    with pytest.raises(InvalidDataset, match=r"amount.*another playbook"):
        trained.train_offline(rows(60, amount="Preis", abroad="Ausland", shop="Laden"))
    assert trained.playbook.clock == before


def test_the_amount_is_known_in_other_languages(trained: TrainingPipeline) -> None:
    report = trained.train_offline(rows(60, amount="Betrag"))
    assert report.columns == "other columns than the playbook knows: Betrag is taken for amount"
