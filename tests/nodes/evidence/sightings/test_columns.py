"""What a payment says of who paid, when, how much and where."""

from acegraph.nodes.evidence.sightings.columns import sighting_of, unread


def test_ids_and_times_are_the_same_however_they_are_written() -> None:
    columns = {"customer": "c", "time": "t"}
    written = [("C-17", "2026-01-05T10:00:00Z"), ("c 17", "2026-01-05 11:00+01:00"), ("Ｃ17", None)]
    seen = [sighting_of({"c": c, "t": t or 1767607200}, columns) for c, t in written]
    assert len({(s.at, s.who["customer"]) for s in seen if s}) == 1
    ids = [sighting_of({"c": number, "t": 5}, columns) for number in (4711, 4711.0, "4711")]
    assert {one.who["customer"] for one in ids if one} == {"4711"}


def test_a_place_off_the_globe_is_not_read() -> None:
    columns = {"customer": "c", "time": "t", "latitude": "lat", "longitude": "long"}
    fields = {"c": "C-17", "t": 5, "lat": 95, "long": 13.4}
    assert unread(fields, columns) == {"latitude"}
    seen = sighting_of(fields, columns)
    assert seen is not None
    assert seen.place is None
