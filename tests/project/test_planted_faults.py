"""The faults of `make faults` can be planted: each finds its place, and the tests that see it."""

from planted_faults import read_faults
from project_paths import ROOT


def test_every_fault_finds_its_place_and_its_tests() -> None:
    faults = read_faults()
    assert [fault.number for fault in faults] == list(range(1, 41))
    assert [fault.number for fault in faults if not fault.finds_its_place(ROOT)] == []
    assert [name for fault in faults for name in fault.tests if not (ROOT / name).exists()] == []
