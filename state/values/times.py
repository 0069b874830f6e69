"""Times as all tables write them: UTC and ISO 8601."""

from datetime import UTC, date, datetime

from acegraph.state.errors import InvalidInput, quoted


def now() -> str:
    """The present time as all tables write it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def as_utc(time: str | date) -> str:
    """A given time as all tables write it; a time without a zone is taken as UTC.

    >>> as_utc("2026-03-01T12:00:00+02:00")
    '2026-03-01T10:00:00.000000+00:00'
    """
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise InvalidInput(
                f"a time is ISO 8601, as 2026-03-01T12:00, not {quoted(time)}"
            ) from None
    if not isinstance(time, datetime):  # a day alone
        time = datetime(time.year, time.month, time.day)
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise InvalidInput(f"{time} is beyond the calendar") from None


def as_past(time: str | date) -> str:
    """A given time as all tables write it; a time in the future is refused."""
    utc = as_utc(time)
    if utc > now():
        raise InvalidInput(f"{time} has not come yet")
    return utc
