"""How a person answers a review. The questions are in judge/review.py and curator/approval.py."""

import re
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from acegraph.state.errors import InvalidAnswer, quoted
from acegraph.state.task.reading import first_fault
from acegraph.state.values import ANALYST, Verdict, clean_text, parse_decision

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@+-]{0,99}")


def _name(text: str) -> str:
    """A name in plain letters: with look-alike letters one person could have two names."""
    name = " ".join(text.split())
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 100 plain letters, digits, spaces or ._@+-")
    return name


def _reason(text: str) -> str:
    reason = clean_text(text)
    if not reason:
        raise ValueError("say why")
    return reason


_Why = Annotated[str, Field(max_length=1_000), AfterValidator(_reason)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    who: Annotated[str, AfterValidator(_name)] = Field(description="who answers")
    why: _Why

    @property
    def source(self) -> str:
        """The source that the ledger notes for the answer."""
        return ANALYST + self.who


class VerdictAnswer(_Answer):
    """A person's verdict on a transaction; it becomes the label of the transaction."""

    verdict: Annotated[Verdict, BeforeValidator(parse_decision)] = Field(
        description="APPROVE or DECLINE"
    )
    why: _Why = Field(description="the reason; it is kept in the ledger")
    decision_id: str | None = Field(
        None, description="optional; an answer about another payment than this one is refused"
    )


class ApprovalAnswer(_Answer):
    """A person's decision whether a bullet may act."""

    approve: bool = Field(description="true: it may act; false: it is retired")
    why: _Why = Field(description="the reason; it is kept in the history")
    bullet: str | None = Field(
        None, description="optional; an answer about another bullet than this one is refused"
    )


AnyAnswer = TypeVar("AnyAnswer", bound=_Answer)


def read_answer(
    form: type[AnyAnswer],
    raw: object,
    check: Callable[[AnyAnswer], object] = lambda answer: None,
    stored: Callable[[object], object] = lambda said: said,
) -> AnyAnswer:
    """Read an answer, its verdict perhaps in a task's words (`stored` says what they mean);
    `InvalidAnswer` says why it lacks the form or fails the check.
    """
    if not isinstance(raw, dict):
        wanted = ", ".join(form.model_fields)
        raise InvalidAnswer(f"an answer is a mapping of {wanted}, not {type(raw).__name__}")
    if "verdict" in raw:
        raw = {**raw, "verdict": stored(raw["verdict"])}
    try:
        answer = form.model_validate(raw)
    except ValidationError as error:
        raise InvalidAnswer(": ".join(first_fault(error))) from None
    check(answer)
    return answer


def check_subject(named: str | None, asked: str) -> None:
    """Refuse an answer that names another payment or bullet than the one that is asked about."""
    if named not in (None, asked):
        raise InvalidAnswer(f"the answer is about {quoted(named)}, the question about {asked}")


def signature(who: str) -> str:
    """The source of a change that a person signs; `user` if nobody is named."""
    try:
        return ANALYST + _name(who) if who else "user"
    except ValueError as error:
        raise InvalidAnswer(f"who: {error}") from None


def is_same_name(left: str, right: str) -> bool:
    """Whether two names are of the same person, however they are spaced and capitalised."""
    return " ".join(left.split()).casefold() == " ".join(right.split()).casefold()
