"""The number that a value of a field means, and the currency that it names."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from acegraph.state.values.notation import is_nothing, with_plain_sign, written, written_number
from acegraph.state.values.transaction import Scalar

_SCALES: Final = {"thousand": 1e3, "million": 1e6, "mn": 1e6, "k": 1e3, "m": 1e6}
_MONEY: Final = re.compile(
    r"([+-]?)\s*(?:([^\W\d_]+)\.?)?\s*([+-]?)\s*(\d[\d.,'’\s]*?)\s*((?:[^\W\d_]+\.?\s*){0,2})"
)
_CURRENCIES: Final = dict(
    pair.split("=")
    for pair in "$=USD €=EUR £=GBP ¥=JPY ₹=INR ₩=KRW ₺=TRY ₽=RUB ₴=UAH ₫=VND ₦=NGN ฿=THB ₪=ILS "
    "₱=PHP ₡=CRC ₲=PYG ₵=GHS ₸=KZT ₼=AZN ₾=GEL dollars=USD dollar=USD euros=EUR euro=EUR "
    "pounds=GBP pound=GBP zł=PLN zl=PLN "
    "kč=CZK kc=CZK ft=HUF lei=RON лв=BGN руб=RUB грн=UAH дин=RSD din=RSD fr=CHF sfr=CHF tl=TRY "
    "kr=KR rs=RS".split()
)
"""Several countries write kr or Rs: they stay what they are."""
_CODES: Final = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN "
    "BWP BYN BZD CAD CDF CHF CLF CLP CNH CNY COP CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN "
    "ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR "
    "ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LTL LVL LYD MAD "
    "MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN "
    "PGK PHP PKR PLN PYG QAR RMB RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD "
    "SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND "
    "VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG ZWL".split()
) | {*_CURRENCIES.values()}
"""The currencies of the world (ISO 4217), RMB, and what several of them are called."""
_LETTERS_AND_SIGN: Final = re.compile(r"\b([a-z]{1,2})\$", re.IGNORECASE)
_DOLLARS: Final = dict(
    pair.split("=")
    for pair in "r=BRL us=USD a=AUD au=AUD c=CAD ca=CAD hk=HKD nz=NZD s=SGD sg=SGD mx=MXN nt=TWD"
    " j=JMD rd=DOP".split()
)
"""The currencies that are written as letters before a dollar sign."""
_WITH_APOSTROPHES: Final = re.compile(r"\D*\d{1,3}(?:['’]\d{3})+(?:[.,]\d+)?\D*")
_SCIENTIFIC: Final = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?e[+-]?\d{1,2}", re.IGNORECASE)


def read_number(value: Scalar) -> float | int | None:
    """The number that a value means, with a currency or a scale; None for anything else.

    >>> [read_number(text) for text in ("9000.00 USD", "CHF 9'000", "1.2k", "9.0e3", "nine", True)]
    [9000.0, 9000.0, 1200.0, 9000.0, None, None]
    """
    return read_money(value)[0]


def read_money(value: Scalar) -> tuple[float | int | None, str | None]:
    """The number that a value means, and the code of the currency that it names.

    >>> [read_money(text) for text in ("9000.00 usd", "€9,50", "12")]
    [(9000.0, 'USD'), (9.5, 'EUR'), (12.0, None)]
    >>> read_money("R$ 1.900,50"), read_money("X$ 12"), read_money("EUR 5 USD")
    ((1900.5, 'BRL'), (None, None), (None, None))
    >>> [read_money(text) for text in ("51,12 zł", "CHF 89.-", "(1,234.50)", "5k kr")]
    [(51.12, 'PLN'), (89.0, 'CHF'), (-1234.5, None), (5000.0, 'KR')]
    """
    if isinstance(value, bool) or value is None:
        return None, None
    if not isinstance(value, str):
        return value, None
    value = _LETTERS_AND_SIGN.sub(lambda match: _DOLLARS.get(match[1].lower(), match[0]), value)
    text = "".join(_plain_digits(value)).strip()
    if _SCIENTIFIC.fullmatch(text):
        return float(text), None
    match = None if _is_odd(value) else _MONEY.fullmatch(with_plain_sign(text[:60]))
    number = written_number(re.sub(r"['’]", "", match[4].strip())) if match else None
    if match is None or number is None or (match[1] and match[3]):
        return None, None
    sign = next((c for c in value if unicodedata.category(c) == "Sc"), "")
    scale, behind = _scale_and_word(match[5])
    words = [word for word in ((match[2] or "").lower(), behind) if word]
    if not words or sign == "€":  # other signs belong to several currencies
        words += [sign] if sign else []
    named = {_CURRENCIES.get(word, word.upper()) for word in words}
    if len(named) > 1 or not named <= _CODES:
        return None, None  # two currencies, some other unit, or a number in words such as 2 Mio
    is_negative = "-" in (match[1], match[3])
    return number * scale * (-1 if is_negative else 1), next(iter(named), None)


@lru_cache(maxsize=1024)
def currency_code(value: Scalar) -> str | None:
    """The code of a currency: EUR for "eur", "€" or "euros"; other words in capitals."""
    word = "" if value is None else written(value).strip()
    return None if is_nothing(word) else read_money(f"1 {word}")[1] or word.upper()


def _scale_and_word(behind: str) -> tuple[float, str]:
    """What the words behind a number say: its scale, and the rest of them."""
    word, *more = [part.strip(".") for part in behind.lower().split()] or [""]
    if word in _SCALES and "." not in behind:
        return _SCALES[word], "".join(more)
    scale = next((scale for scale in ("k", "mn", "m") if word.startswith(scale)), "")
    if scale and not more and len(word) == len(scale) + 3 and word[len(scale) :].upper() in _CODES:
        return _SCALES[scale], word[len(scale) :]
    return 1.0, "".join((word, *more))


def _is_odd(text: str) -> bool:
    """Whether a text hides what number it shows: digits that are raised, marks that turn the
    direction round, a sign of a currency among digits, apostrophes that part no thousands.
    """
    kinds = [unicodedata.category(c) for c in text]
    if "No" in kinds or "Cf" in kinds:
        return True
    if re.search(r"['’]", text) and not _WITH_APOSTROPHES.fullmatch(text):
        return True
    digits = [i for i, kind in enumerate(kinds) if kind == "Nd"]
    return bool(digits) and "Sc" in kinds[digits[0] : digits[-1]]


def _plain_digits(text: str) -> Iterator[str]:
    """The characters of a text with plain digits, and without signs of currencies."""
    for c in unicodedata.normalize("NFKC", text):
        if unicodedata.category(c) == "Nd":
            yield str(unicodedata.decimal(c))
        elif unicodedata.category(c) != "Sc":
            yield c
