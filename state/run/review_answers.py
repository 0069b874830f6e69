"""The form of a person's answer to a review, and the rule that nobody approves their own bullet."""

import re
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from acegraph.state.errors import InvalidAnswer
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.transaction import clean_text
from acegraph.state.values.verdict import APPROVE, DECLINE, Verdict

ANALYST: Final = "analyst:"
"""How the source of a label begins when a person gave it."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@+-]{0,99}")
_WORDS: Final[dict[str, Verdict]] = {
    "approve": APPROVE,
    "approved": APPROVE,
    "decline": DECLINE,
    "declined": DECLINE,
}


def _name(given: str) -> str:
    """A name in plain letters: look-alikes would be two people who are one."""
    name = " ".join(given.split())
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 100 plain letters, digits, spaces or ._@+-")
    return name


def _said(given: str) -> str:
    text = clean_text(given)
    if not text:
        raise ValueError("say why")
    return text


def _verdict(given: object) -> Verdict:
    """The word itself: a file's yes is a fraud, a person's may be an approval."""
    verdict = _WORDS.get(given.strip().lower()) if isinstance(given, str) else None
    if verdict is None:
        raise ValueError(f"APPROVE or DECLINE wanted, not {given!r:.40}")
    return verdict


_Why = Annotated[str, Field(max_length=1_000), AfterValidator(_said)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    who: Annotated[str, AfterValidator(_name)] = Field(description="who answers")
    why: _Why

    @property
    def source(self) -> str:
        """How the answer is signed in the ledger."""
        return ANALYST + self.who


class VerdictAnswer(_Answer):
    """What a person says of a transaction; it becomes its label."""

    verdict: Annotated[Verdict, BeforeValidator(_verdict)] = Field(description="APPROVE or DECLINE")
    why: _Why = Field(description="the reason, for the answer of the run; the ledger keeps none")


class ApprovalAnswer(_Answer):
    """Whether a person lets a bullet act."""

    approve: bool = Field(description="true: it may act; false: it is retired")
    why: _Why = Field(description="the reason; it is kept in the history")


AnyAnswer = TypeVar("AnyAnswer", bound=_Answer)


def read_answer(
    form: type[AnyAnswer], given: object, check: Callable[[AnyAnswer], None] = lambda answer: None
) -> AnyAnswer:
    """The answer, if it has the form and passes the check; else `InvalidAnswer` says what not."""
    if not isinstance(given, dict):
        wanted = ", ".join(form.model_fields)
        raise InvalidAnswer(f"an answer is a mapping of {wanted}, not {type(given).__name__}")
    try:
        answer = form.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise InvalidAnswer(f"{name}: {said}") from None
    check(answer)
    return answer


def check_four_eyes(bullet: Bullet, who: str) -> None:
    """Refuse whoever had a part in the proposal: its author, or the giver of its label."""
    for role in ("author", "label_source"):
        given = str(bullet.origin.get(role) or "")
        if _same(given, who) or _same(given.removeprefix(ANALYST), who):
            part = "wrote it" if role == "author" else "gave the label it was learned from"
            raise InvalidAnswer(f"{who} {part} and cannot approve {bullet.id}: ask somebody else")


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
