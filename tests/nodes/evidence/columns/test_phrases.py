"""Which words of a free text a condition may ask for: never a name, a number or an address."""

from collections.abc import Iterable

from declared_tables import declared

from acegraph.nodes.evidence.columns.phrases import is_name, phrases_of
from acegraph.state import Case
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields
from tests.support.compared_values import compared_values

OTHERS = ["rent for may", "dinner with friends", "thank you", "see you soon"]


def table_of(memos: Iterable[str], customers: int = 10, **fields: str) -> CaseTable:
    rows: list[Fields] = [
        {"customer_id": f"c{i % customers}", "memo": memo, **fields} for i, memo in enumerate(memos)
    ]
    return CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))


def phrases(*memos: str) -> list[str]:
    return phrases_of("memo", table_of([*memos, *OTHERS] * 8))


def test_a_phrase_is_offered_once_as_the_longest_that_the_same_texts_have() -> None:
    found = phrases("a gift card for you", "a gift card, please", "birthday card")
    assert "gift card" in found
    assert "card" in found  # the birthday has one, too
    assert "gift" not in found


def test_names_are_not_offered() -> None:
    memos = ["dinner with Zorba", "flat of Zorba in Athens", "lunch with ana", "ZORBA TAXI"]
    words = {word for phrase in phrases(*memos) for word in phrase.split()}
    assert not {"zorba", "athens"} & words
    assert {"dinner", "lunch"} <= words


def test_words_in_the_names_of_merchants_are_not_offered() -> None:
    memos = ["order at zumbado today", "order of shoes"]
    rows = enumerate([*memos, *OTHERS] * 8)
    table = CaseTable(
        Case(str(i), {"memo": memo, "merchant": f"Zumbado Gifts {i % 9}"}, "APPROVE")
        for i, memo in rows
    )
    declared(table, merchant="entity", memo="text")
    words = {word for phrase in phrases_of("memo", table) for word in phrase.split()}
    assert "zumbado" not in words
    assert "order" in words
    assert is_name("zumbado", "memo", table)
    assert is_name("alabama", "memo", table)  # nobody has written it small
    assert not is_name("friends", "memo", table)


def test_numbers_ids_and_addresses_are_not_offered() -> None:
    memos = ["ref AB12X for it", "mail me at jo@shop.com now", "see shop.com/pay now", "1200 euro"]
    found = phrases(*memos)
    assert not any(c.isdigit() for phrase in found for c in phrase)
    assert not {"shop", "com", "jo", "pay"} & {w for phrase in found for w in phrase.split()}


def test_a_word_of_one_customer_is_not_offered() -> None:
    memos = [*OTHERS * 10, *["invoice for wax"] * 10]
    rows = [
        {"customer_id": "c0" if "wax" in m else f"c{i % 9}", "memo": m} for i, m in enumerate(memos)
    ]
    table = CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))
    declared(table, customer_id="id", memo="text")
    assert "rent for may" in phrases_of("memo", table) or "rent" in phrases_of("memo", table)
    assert not any("wax" in phrase for phrase in phrases_of("memo", table))


def test_a_text_that_says_what_a_reader_reads_offers_only_the_rest() -> None:
    texts = ["pays $40 via VPN, quite a hurry", "pays $90 at 3 AM, as a favour"] * 20
    table = CaseTable(Case(str(i), {"text": t}, "APPROVE") for i, t in enumerate(texts))
    words = {word for phrase in phrases_of("text", table) for word in phrase.split()}
    assert {"hurry", "favour"} <= words
    assert "vpn" not in words


def test_a_table_without_free_text_has_no_phrases() -> None:
    rows = [{"amount": float(i), "kind": f"k{i % 3}"} for i in range(40)]
    table = CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))
    assert set(compared_values(declared(table))) == {"amount", "kind"}
    assert not [key for key in table.shared if "phrases" in key or "names" in key]
