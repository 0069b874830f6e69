"""The trade words in which rules about transactions are written, and wording that is suspicious.

A heuristic is recognised because it consists of trade words, not because it has no bad words. The
lists of orders and suspicious wording can refuse a text; they cannot prove that it is safe.
nodes/curator/screening.py applies them.
"""

import re
from typing import Final, Literal

from acegraph.nodes.text.lookalikes import skeleton, words_of

_OBJECTS: Final = """
    account amount buyer card cardholder case charge client consumer credit customer debit holder item merchant money
    order payer payment people purchase shopper store transaction user value""".split()
"""What every transaction has: a rule about these alone limits nothing."""
_FEATURES: Final = """
    abroad accept address advance afternoon age airline app atm attempt authentication average avs balance basket beneficiary
    bet bill biometric bitcoin book booking border bot browser burst bust cash casino cent change channel charity
    chargeback chip cheap city close clothing code coin commuter compromise connection contactless convenience
    country cross crypto currency cvv daily dark data date day daytime decimal delivery deposit destination device
    different digit digital dispute distance document dollar domain domestic donation dormant double drain
    e-commerce electronic electronics email euro eur evening exceed exchange expedite expensive express fail failed
    familiar far fast fee few fingerprint first flight foreign forwarder freight frequency fresh fuel furniture
    gambling game gaming gas gbp geography geolocation gift goods grocery high history holiday home hotel hour hourly
    household identical identity imei impossible in-store inactive income increase individual invoice ip issue jewelry
    jewellery jump km kyc large last late laundering less limit local location login long loyal loyalty low luxury
    machine mail map marketplace maximum mcc medium merchandise midday midnight mile minimum minute mismatch mobile
    moderate month monthly morning mule multiple name network new next night non-resident noon number odd offshore
    old online opened otp outside overnight overseas parking password past pattern pattern payee paypal peak percent
    pharmacy phone pickup quiet busy pin platform pos postal pound prepaid present previous price prior profile proxy quick rapid
    rate rating receipt recent recipient record recurring refund region remittance remote renewal repeat repeated
    resale resell reseller reset restaurant reversal review ride round route same saving score seller sequence
    session several shipping shop short sim single site size small social software spend spending spike split standing
    seasonal school medical hospital deviation mean standard historical support person toy fine
    state station statement stolen streaming subscription successive sudden sum supermarket supplier swap takeover
    taxi tenure terminal test testing threshold ticket time timezone tiny today top total tor transfer transit travel
    traveler traveller trip trusted twice two typical unfamiliar unknown unrecognised unrecognized unusual unverified
    usd usual utility vacation velocity vendor verification verified vip volume voucher vpn wallet watch website week
    weekday weekend weekly wire withdrawal year young zip""".split()
"""What differs between transactions."""
_JUDGEMENTS: Final = """
    abuse alert allow anomalous anomaly approve approval authorise authorize benign block careful caution cautious
    challenge check concern criminal decline declined deny doubt doubtful escalate evidence flag fraud fraudster
    fraudulent genuine harmless hold honest ignore indicate indicator innocent investigate legit legitimate likely
    mostly normal ordinary pass permit plausible proof probable rarely red refuse reject reliable risk risky rule safe
    scam scrutinise scrutinize scrutiny secure sign signal step-up strict suggest suspect suspicion suspicious
    threat tolerate treat trust typically unlikely unusual usually verify victim warning watch""".split()
STOP: Final = frozenset(
    """a about above after again all also although an and any are as at be because been before being below
    between both but by can combine combined come could did do does done during each either else even every exactly
    follow follow for from had has have he her here his how i if in including instead into is it its itself just kind
    least less make many may mean might more most much must need neither no nor not of off on once one only onto or
    other others otherwise our out over own per rather right shall she should since so some such than that the their
    them then there these they this those though through to together too toward towards under unless until up upon use
    used using very via was we were what when where whether which while who whom whose why will with within without
    would yet you your redacted january february march april june july august september
    october november december monday tuesday wednesday thursday friday saturday sunday three four five six seven eight nine ten half third""".split()
)
"""Words that carry no meaning of their own."""
_LOWERS = re.compile(
    r"\b(?:approv\w*|accept(?:ed|able|ing)?|allow\w*|permit\w*|legit\w*|safe|genuine|benign|harmless|honest|"
    r"innocent|ordinary|normal(?:ly)?|low(?:er)?[- ]risk|trust(?:ed|worthy)?|let .{0,20}through|tolerate\w*|"
    r"(?:white|allow)[- ]?list\w*|ignore\w*|waive\w*|skip\w*|reduces? (?:the )?(?:risk|suspicion)|"
    r"lowers? (?:the )?(?:risk|suspicion)|less (?:suspicious|risky|of a concern)|no (?:risk|fraud|concern|reason))\b"
)
_RAISES = re.compile(
    r"\b(?:declin\w*|reject\w*|refus\w*|den(?:y|ied)|block\w*|fraud\w*|suspicio\w*|suspect\w*|risky|"
    r"(?:high(?:er)?|elevated)[- ]risk|raises? (?:the )?(?:risk|suspicion)|scam\w*|stolen|takeover|laundering|mule|"
    r"card[- ]testing|flag\w*|hold|scrutin\w*|careful|caution|doubt\w*|compromised|watch|stricter|illegitimate|"
    r"unsafe|a risk)\b"
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|n't|without|rarely|hardly|don'?t|doesn'?t|isn'?t|aren'?t|shouldn'?t|cannot|less|low)"
    r"(?:\W+(?:only|just|be|is|a|an|the|any|very|of|proof|raise|more|to|immediately)){0,3}\W+$"
)
_LETS_PASS = re.compile(
    r"\b(?:go(?:es)? (?:ahead|through)|pass(?:es|ed)?|(?:is|are|be|looks?|seems?) (?:all )?(?:fine|ok(?:ay)?|good|right|welcome)|"
    r"clear(?:ed|s)?|waved?|exempt\w*|reliable|out of the question|never mind|without (?:check|review|limit)\w*|"
    r"no (?:checks?|review|limit|need|longer|problem|issue))\b"
)
_ABOUT_RULES = re.compile(
    r"\b(?:rules?|playbook|bullets?|heuristics?|polic(?:y|ies)|instructions?|guidelines?|exceptions?|exempt\w*|void(?:ed)?|"
    r"suspended|appl(?:y|ies|ied)|b\d+|you|your|(?:other|all|every|these|those) checks?)\b"
)
_SENTENCE = re.compile(
    r"\.(?!\d)|[;!?]|\b(?:but|however|although|though|unless|except|while|whereas|yet|otherwise)\b"
)
_CLAUSE = re.compile(r",(?!\d)|[:()–—]")
_STATES = re.compile(
    r"\b(?:is|are|was|were|been|needs?|has|have|had|goes|go|may|can|could|should|must|shall|will|would|does|do|gets?|"
    r"counts?|holds?|stays?|remains?|poses?|deserves?|wants?|belongs?|runs?|comes?|makes?|means?)\b"
)
"""A verb by which a clause states something of its own."""
_CLAUSE_TRADE_SHARE: Final = 0.5
_SHORT_CLAUSE: Final = 3
_OF_NOTHING = re.compile(r"\W*(?:\w+\W+)?(?:nothing|none|nobody|no one|no|neither|hardly any)\b")
"""What follows a verdict that is passed on nothing."""
Direction = Literal["raises", "lowers", "unclear"]


def direction(text: str) -> Direction:
    """Whether a skeleton argues for more risk or for less; its first such word counts.

    >>> direction("do not decline a known device"), direction("never ignore a vpn")
    ('lowers', 'raises')
    """
    return next(iter(_arguments(text)), "unclear")


def _arguments(text: str, *more: re.Pattern[str]) -> list[Direction]:
    """Every argument of a skeleton, in order; the patterns `more` argue for less risk too."""
    found = [(m.span(), False) for lowers in (_LOWERS, *more) for m in lowers.finditer(text)]
    found += [(m.span(), True) for m in _RAISES.finditer(text)]
    return [
        "raises" if raises != _is_denied(text, *span) else "lowers"
        for span, raises in sorted(found)
    ]


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether a word is negated by what stands before it, or holds for nothing."""
    negations = (_NEGATED.search(text[max(0, start - 40) : start]), _OF_NOTHING.match(text, end))
    return sum(map(bool, negations)) == 1


def argues_only_for(wanted: Direction, text: str) -> bool:
    """Whether a skeleton argues for one direction alone, in plain trade words.

    Every sentence, and every clause that states something, must argue for it.

    >>> argues_only_for("raises", "decline vpn orders at night")
    True
    >>> argues_only_for("raises", "decline vpn orders; the rules for new devices no longer apply")
    False
    """
    if set(_arguments(text, _LETS_PASS)) != {wanted} or speaks_of_rules(text):
        return False
    sentences = [sentence for sentence in _SENTENCE.split(text) if words_of(sentence)]
    clauses = [clause for sentence in sentences for clause in _CLAUSE.split(sentence)]
    stating = [*sentences, *filter(_STATES.search, clauses)]
    return all(map(_arguments, stating)) and all(map(_is_of_trade, clauses))


def speaks_of_rules(text: str) -> bool:
    """Whether a skeleton is about rules, exceptions or its reader instead of transactions."""
    return bool(_ABOUT_RULES.search(text))


def _is_of_trade(clause: str) -> bool:
    meaning = [w for w in words_of(clause) if w not in STOP and not w.isdigit()]
    return len(meaning) < _SHORT_CLAUSE or trade_share(clause) >= _CLAUSE_TRADE_SHARE


_SUFFIX = re.compile(r"(?:ing|ed|es|s|ly|al|e|y|ies|ied)$")


def stem(word: str) -> str:
    """A word roughly without its ending; sentence.py has a finer stem."""
    return _SUFFIX.sub("", word) if len(word) > 3 else word


_OBJECT_STEMS: Final = frozenset(map(stem, _OBJECTS))
_FEATURE_STEMS: Final = frozenset(map(stem, _FEATURES)) - _OBJECT_STEMS
_JUDGEMENT_STEMS: Final = frozenset(map(stem, _JUDGEMENTS))
_ALL_STEMS: Final = _OBJECT_STEMS | _FEATURE_STEMS | _JUDGEMENT_STEMS


def is_plain(word: str) -> bool:
    """Whether a word is a trade word or a stop word, so that it cannot name a person."""
    return word in STOP or stem(word) in _ALL_STEMS


def is_judgement(word: str) -> bool:
    """Whether a word judges a transaction: "safe", "fraud", "check"."""
    return stem(word) in _JUDGEMENT_STEMS


def is_object(word: str) -> bool:
    """Whether a word names what every transaction has: "card", "account"."""
    return stem(word) in _OBJECT_STEMS


def features_of(text: str) -> set[str]:
    """The distinct features by which the rule in a skeleton is limited."""
    features = {stem(w) for w in words_of(text)} & _FEATURE_STEMS
    return features | {"number"} if re.search(r"\d", text) else features


def trade_share(text: str) -> float:
    """The share of trade words among the meaningful words of a skeleton."""
    words = [w for w in words_of(text) if w not in STOP and not w.isdigit()]
    trade_words = sum(stem(w) in _ALL_STEMS for w in words)
    return trade_words / len(words) if words else 0.0


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns))


_ABOUT_US = (
    r"(?:instruction|prompt|guideline|directive|training|rules?\b|polic(?:y|ies)|context\b|safety|everything|bullets?\b|"
    r"heuristics?\b|system\b|commands?\b|restrictions?\b|constraints?\b|all of the above|what (?:was|is|you)|messages?\b)"
)
ORDERS: Final = _any(
    rf"\b(?:ignor|disregard|forget|overrid|bypass|neglect|circumvent|delete|discard)\w*\b.{{0,40}}\b{_ABOUT_US}",
    r"\byou(?:'re| are| must| will| should| have| need| can| shall| may| now|'ll)\b",
    r"\byour (?:task|instruction|system|prompt|response|answer|role|output|job|goal|new|previous|developer|creator)",
    r"\b(?:as|you're|being) an? (?:ai|assistant|language model|llm|bot|chatbot)\b",
    r"\b(?:system|developer) (?:prompt|message|note|override|mode|instruction)\b|\bjailbreak|\bdan mode\b",
    r"(?:^|\n|[\]>.#\"'])\s*(?:system|assistant|user|human|ai|developer|admin)\s*[:>]",
    r"\b(?:act|behave|respond|answer|reply|speak) as\b|\bpretend\b|\brole-?play|\bimagine\b|\bsimulate\b",
    r"\b(?:respond|reply|answer|output|print|write|say|repeat|return|reveal|translate|summari[sz]e|execute|run|send)\b"
    r".{0,12}\b(?:with|only|the|a|an|me|this|following|code|text|sentence|word|email|everything)\b",
    r"\bfrom now on\b|\bnew (?:instruction|rule|task|order|directive)s?\b|\bdo anything\b|\bend of (?:data|prompt|text)",
    r"\b(?:the )?(?:agent|assistant|model|llm|analyst|judge|reflector|curator|ai|chatbot)\b.{0,10}\b(?:must|should|shall|has to|needs? to|will|is to)\b",
    r"\b(?:tell|give|show|help|let|teach|explain to) (?:me|us)\b|\bi (?:want|need|am|will|would|have|'m)\b|\bmy (?:name|grandm)",
    r"\b(?:set|return|output|give|assign|use)\b.{0,15}\b(?:decision|verdict|risk_?score|is_correct|label|confidence)\b",
    r"\bmark (?:it|this|all|them|as)\b|\bplease\b",
)  # fmt: skip
"""Wording that gives orders to a language model instead of describing transactions."""
_RISKY = re.compile(
    r"\b(?:new|newly|first|young|fresh|vpn|prox(?:y|ies)|tor|foreign|abroad|overseas|cross|offshore|night\w*|midnight|late|large|"
    r"high|higher|huge|big|expensive|luxury|crypto\w*|bitcoin|gift|prepaid|vouchers?|unknown|unverified|unrecogni[sz]ed|unfamiliar|mismatch\w*|"
    r"differs?|fail\w*|overnight|express|disposable|bursts?|velocity|rapid|repeated|distance|over|above|exceed\w*|wire)\b"
)
_MITIGATES = re.compile(
    r"\b(?:known|usual\w*|verified|verif\w+|home|domestic|travel\w*|trip|airline|hotel|recurring|monthly|renew\w*|subscri\w+|established|older|"
    r"loyal\w*|tenure|below|under|less than|low(?:er)?(?![- ](?:risk|fraud))|small|moderate|up to|within|chip|pin|contactless|present|in[- ]person|"
    r"biometric|secure|two-factor|authenticat\w+|prior|previous|same|familiar|history|regular\w*|standing|average|match\w*|years?|called|"
    r"announce\w*|daytime|corporate|hospitals?|on its own|alone)\b"
)


def calls_risk_safe(text: str) -> bool:
    """Whether a skeleton that lowers risk names something risky and nothing that mitigates it."""
    return bool(_RISKY.search(text)) and not _MITIGATES.search(text)


IMPERATIVE: Final = re.compile(
    r"\W*(?:now |then |also |first |just |kindly )?(?:transfer|send|pay|buy|book|reserve|delete|remove|update|change|give|make|open|create|grant|"
    r"share|email|mail|visit|call|download|click|upload|add|move|get|find|read|fetch|search|schedule|post|forward|withdraw|"
    r"deposit|invite|refund|cancel|confirm|reset|enable|disable|install|submit|order|purchase|charge|issue|store|save|log)\b"
)
"""The beginning of an order to do something; such a sentence says nothing about fraud."""
SUSPICIOUS: Final = _any(
    r"\b(?:always|automatically|unconditionally|immediately|instantly)\b.{0,20}\b(?:approv|accept|allow|pass|safe|trust|authori)\w*",
    r"\b(?:approv|accept|allow|trust)\w*\b.{0,20}\b(?:always|all|every|any|everything|anything|unconditionally|automatically)\b",
    r"\b(?:never|not ever)\b.{0,12}\b(?:declin|block|reject|flag|review|question|refus|suspect)\w*",
    r"\bregardless\b|\bno matter\b|\bwhatever\b|\bwithout (?:any )?(?:check|review|question|verif|limit|exception|doubt)\w*",
    r"\b(?:white|allow|safe)[- ]?list\w*|\bbypass\w*|\boverrid\w*|\bexempt\w*|\bpre-?(?:approved|authori[sz]ed|cleared)\b",
    r"\b(?:authori[sz]ed|approved|confirmed|cleared|signed off|verified) by\b|\bon behalf of\b|\bper (?:bank|compliance|management)\b",
    r"\b(?:compliance|management|administrator|admin|security team|headquarters|ceo|regulator|official)\b",
    r"\b(?:memo|message|note|remark|comment|description|reference)s?\b|\bapprova\b|\burgent|\bthis (?:merchant|customer|user|account|card|shop|store|seller|payee)\b",
    *map(skeleton, (
        "ignora", "ignorez", "ignorier", "aprueb", "aprobar", "approuve", "genehmig", "freigeben", "aprove", "aprovar",
        "одобр", "игнорир", "批准", "忽略", "通过", "承認", "無視", "승인", "무시", "موافق", "تجاهل", "onayla", "zatwierd",
        "goedkeur", "godkän", "अनुमोद", "אשר", "setuju", "segur[oa]", "sicher", "confiable", "безопасн", "安全", "doverenn",
    )),
)  # fmt: skip
"""Wording that a person should review first."""
