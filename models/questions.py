"""Questions with known answers, and the rule that splits them into training, validation and test.

Every family yields a `Question`: its text, the right answer, a short trace that derives it (`proof`), and
plausible wrong answers with wrong traces. `tasks.py` makes prompts of them.
All randomness comes from the `random.Random` passed in, so a seed fixes the whole data stream.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from typing import Callable, Iterator


@dataclass(frozen=True)
class Question:
    family: str
    kind: str  # as it stands in the prompt: "boolean", "choice A-C", "number 0", "text", "policies A-D"
    text: str
    answer: str
    proof: str
    wrong: tuple[tuple[str, str], ...]  # (answer, proof) pairs, every answer differs from `answer`
    # For `cite` only: the texts, the letter of the deciding one, and its span that holds the rules. Where the texts tell no
    # answer: the first letter, and nothing.
    sources: tuple[str, ...] = ()
    source: str = ""
    quote: str = ""


# --------------------------------------------------------------------------------------------------------------
# Split


def split_of(question_text: str) -> str:
    """`test`, `validation` or `train`, by sha256 of the whole question text (never by a rule on its numbers)."""
    bucket = int.from_bytes(hashlib.sha256(question_text.encode()).digest()[:4], "big") % 10
    return {0: "test", 1: "validation"}.get(bucket, "train")


# --------------------------------------------------------------------------------------------------------------
# Family: policy (boolean)

# A clause is (texts, kind, facts, range, words): "max"/"min" compare a number, "flag" compares a word with its opposite.
# `{n}` is the limit or the fact; `words` say the fact in an answer, for a flag the opposite.
Clause = tuple[tuple[str, ...], str, tuple[str, ...], tuple[int, int], str]


def _max(texts: str, facts: str, low: int, high: int, words: str) -> Clause:
    return (tuple(texts.split("|")), "max", tuple(facts.split("|")), (low, high), words)


def _min(texts: str, facts: str, low: int, high: int, words: str) -> Clause:
    return (tuple(texts.split("|")), "min", tuple(facts.split("|")), (low, high), words)


def _flag(texts: str, good: str, bad: str) -> Clause:
    return (tuple(texts.split("|")), "flag", (good,), (0, 0), bad)


DOMAINS: dict[str, tuple[tuple[str, ...], tuple[Clause, ...], tuple[str, ...]]] = {
    "refund": (
        ("Policy", "Refund policy", "Shop rules"),
        (
            _max("within {n} days|returned within {n} days|refunds within {n} days", "day {n}|after {n} days", 5, 90, "{n} days"),
            _flag("item unused|must be unused", "unused", "used"),
            _flag("receipt required|with receipt", "receipt", "no receipt"),
            _max("max {n} EUR|up to {n} EUR|price at most {n} EUR", "{n} EUR|price {n} EUR", 20, 900, "{n} EUR"),
            _max("at most {n} items|max {n} items", "{n} items", 2, 9, "{n} items"),
        ),
        ("Is the refund due?", "Should the refund be paid?", "Is a refund owed?"),
    ),
    "insurance": (
        ("Policy", "Insurance policy", "Cover"),
        (
            _max("damage up to {n} EUR|max {n} EUR|covers up to {n} EUR", "{n} EUR|damage {n} EUR", 100, 990, "{n} EUR"),
            _max("reported within {n} days|report within {n} days", "reported day {n}|day {n}", 2, 40, "{n} days"),
            _flag("police report required|with police report", "police report", "no police report"),
            _min("driver age {n} or more|driver at least {n}", "driver {n}|age {n}", 18, 40, "age {n}"),
            _flag("premium paid|only if premium paid", "paid", "unpaid"),
        ),
        ("Is the claim covered?", "Is the damage covered?", "Must the insurer pay?"),
    ),
    "travel": (
        ("Policy", "Travel rules", "Expense policy"),
        (
            _max("hotel up to {n} EUR|hotel max {n} EUR", "hotel {n} EUR", 60, 300, "hotel {n} EUR"),
            _max("meals up to {n} EUR|meals max {n} EUR", "meals {n} EUR", 15, 95, "meals {n} EUR"),
            _min("trip over at least {n} km|distance {n} km or more", "{n} km|distance {n} km", 20, 400, "{n} km"),
            _flag("receipt required|with receipt", "receipt", "no receipt"),
            _flag("approved in advance|prior approval", "approved", "not approved"),
        ),
        ("Is the expense allowed?", "Is the expense compliant?", "May the expense be paid?"),
    ),
    "loan": (
        ("Policy", "Loan rules", "Credit policy"),
        (
            _min("income at least {n}|income {n} or more", "income {n}", 100, 900, "income {n}"),
            _max("loan up to {n}|loan max {n}", "loan {n}", 100, 900, "loan {n}"),
            _min("score at least {n}|score {n} or more", "score {n}", 300, 800, "score {n}"),
            _min("age {n} or more|at least age {n}", "age {n}", 18, 30, "age {n}"),
            _flag("no open debt|debt free", "debt free", "open debt"),
        ),
        ("Is the loan approved?", "Does the applicant qualify?", "May the loan be granted?"),
    ),
    "delivery": (
        ("Contract", "Delivery terms", "SLA"),
        (
            _max("delivered within {n} hours|arrives within {n} hours", "{n} hours|after {n} hours", 4, 96, "{n} hours"),
            _max("at most {n} damaged|max {n} damaged", "{n} damaged", 1, 20, "{n} damaged"),
            _min("weight at least {n} kg|weighs {n} kg or more", "weight {n} kg|{n} kg", 5, 90, "{n} kg"),
            _min("at least {n} units|{n} units or more", "{n} units", 20, 500, "{n} units"),
            _flag("signature required|with signature", "signed", "not signed"),
        ),
        ("Was the contract met?", "Is the delivery compliant?", "Were the terms kept?"),
    ),
}

CLAIM_WORDS = ("Claim", "Case", "Facts")


@dataclass(frozen=True)
class Checked:
    """One clause with its fact: the clause text, the fact text, and the trace of the comparison."""

    clause: str
    fact: str
    holds: bool
    trace: str  # e.g. "12 max 30 ok"
    lie: str  # the same comparison judged wrongly, from a misread fact
    reason: str  # in words why the clause fails, e.g. "12 days is more than 30"; untrue if it holds
    said: str  # the fact as an answer says it, e.g. "12 days"


def _checked(rng: random.Random, clause: Clause, holds: bool) -> Checked:
    texts, kind, facts, (low, high), words = clause
    text, fact = rng.choice(texts), rng.choice(facts)
    if kind == "flag":
        word = fact if holds else words
        other = words if holds else fact
        return Checked(text, word, holds, f"{word} {_ok(holds)}", f"{rng.choice([word, other])} {_ok(not holds)}", words, word)
    limit = rng.randint(low, high)
    limit = _round(rng, limit)
    good, misread = _value(rng, limit, kind, holds), _value(rng, limit, kind, not holds)
    lied = rng.choice([good, misread])
    return Checked(
        text.replace("{n}", str(limit)),
        fact.replace("{n}", str(good)),
        holds,
        _compare(good, limit, kind, holds),
        _compare(lied, limit, kind, not holds),
        _reason(words.replace("{n}", str(lied if holds else good)), limit, kind),
        words.replace("{n}", str(good)),
    )


def _ok(holds: bool) -> str:
    return "ok" if holds else "fails"


def _compare(value: int, limit: int, kind: str, holds: bool) -> str:
    # Both numbers stand before the judgement: a small model compares digits it has just written far better.
    return f"{value} {kind} {limit} {_ok(holds)}"


def _reason(said: str, limit: int, kind: str) -> str:
    return f"{said} is {'more' if kind == 'max' else 'less'} than {limit}"


def _round(rng: random.Random, value: int) -> int:
    if value >= 100:
        return value // 50 * 50
    if 20 <= value and rng.random() < 0.5:
        return value // 5 * 5
    return value


def _value(rng: random.Random, limit: int, kind: str, holds: bool) -> int:
    """A fact on the wanted side of the limit: near it, at it, or far from it."""
    below = holds == (kind == "max")
    near = rng.random() < 0.15
    step = 10 if limit >= 100 and rng.random() < 0.8 else 1
    if below:
        top = limit if holds else limit - step
        low = max(0 if top < 1 else 1, top - (5 * step if near else max(5, int(limit * 0.8))))
        value = rng.randint(min(low, top), top)
        return value if step == 1 or value < 10 else value // step * step
    bottom = limit if holds else limit + step
    return rng.randint(bottom, bottom + (5 * step if near else max(5, limit))) // step * step


def _rules(rng: random.Random, count: int, broken: set[int]) -> tuple[str, list[Checked]]:
    domain = rng.choice(list(DOMAINS))
    clauses = rng.sample(DOMAINS[domain][1], count)
    return domain, [_checked(rng, clause, index not in broken) for index, clause in enumerate(clauses)]


def _trace(names: list[str], items: list[Checked], upto: int, lies: set[int] = frozenset()) -> str:
    return "; ".join(
        f"{name} {item.lie if index in lies else item.trace}"
        for index, (name, item) in enumerate(zip(names, items))
        if index <= upto
    )


@dataclass(frozen=True)
class Case:
    """Rules and the facts they are applied to. `first` is the first broken rule, else the last rule."""

    domain: str
    items: list[Checked]
    broken: set[int]
    first: int
    rules: str  # "(1) refunds within 30 days; (2) item unused"
    facts: str  # "Claim: day 12, unused."

    def names(self) -> list[str]:
        return [f"c{i + 1}" for i in range(len(self.items))]

    def proof(self) -> str:
        return _trace(self.names(), self.items, self.first)

    def wrong_traces(self, rng: random.Random) -> Iterator[tuple[int, str]]:
        """Two traces that end in the wrong judgement, each with the rule that it claims to be broken, or -1."""
        for _ in range(2):
            if self.broken:
                yield -1, _trace(self.names(), self.items, len(self.items) - 1, self.broken)
            else:
                at = rng.randrange(len(self.items))
                yield at, _trace(self.names(), self.items, at, {at})


def _case(rng: random.Random, two_broken: float = 0.15) -> tuple[Case, str, str]:
    """A case, the title of its rules and the white space between its sentences."""
    count = rng.choice([2, 2, 3])
    broken: set[int] = set()
    if rng.random() < 0.5:
        broken = set(rng.sample(range(count), 1 if rng.random() < 1 - two_broken else 2))
    domain, items = _rules(rng, count, broken)
    style = rng.choice(["({}) ", "{}. ", "{}) "])
    rules = "; ".join(style.format(i + 1) + item.clause for i, item in enumerate(items))
    facts = [item.fact for item in items]
    if rng.random() < 0.35:
        rng.shuffle(facts)
    gap = "\n" if rng.random() < 0.05 else " "
    first = min(broken) if broken else count - 1
    title = rng.choice(DOMAINS[domain][0])
    return Case(domain, items, broken, first, rules, f"{rng.choice(CLAIM_WORDS)}: {', '.join(facts)}."), title, gap


def _yes_no(case: Case, rng: random.Random) -> tuple[str, tuple[tuple[str, str], ...]]:
    answer = "no" if case.broken else "yes"
    return answer, tuple(("yes" if case.broken else "no", trace) for _, trace in case.wrong_traces(rng))


def policy(rng: random.Random) -> Question:
    case, title, gap = _case(rng)
    text = f"{title}: {case.rules}.{gap}{case.facts}{gap}{rng.choice(DOMAINS[case.domain][2])}"
    answer, wrong = _yes_no(case, rng)
    return Question("policy", "boolean", text, answer, case.proof(), wrong)


# --------------------------------------------------------------------------------------------------------------
# Family: text (a policy case answered in words of a fixed form)

REPLIES = {
    "refund": ("Refund due.", "No refund"),
    "insurance": ("Claim covered.", "Not covered"),
    "travel": ("Expense allowed.", "Not allowed"),
    "loan": ("Loan approved.", "No loan"),
    "delivery": ("Terms kept.", "Terms broken"),
}
TEXT_ENDINGS = ("What does the clerk write?", "What does the clerk write?", "What is the reply?", "What should the clerk write?")


def _reply(case: Case, at: int) -> str:
    yes, no = REPLIES[case.domain]
    return yes if at < 0 else f"{no}: {case.items[at].reason}."


def _replies(case: Case, rng: random.Random) -> tuple[str, tuple[tuple[str, str], ...]]:
    right = _reply(case, case.first if case.broken else -1)
    wrong = [(_reply(case, at), trace) for at, trace in case.wrong_traces(rng)]
    digits = [i for i, character in enumerate(right) if character.isdigit()]
    if digits and rng.random() < 0.5:  # the right words with a misread number
        at = rng.choice(digits)
        digit = rng.choice([d for d in "123456789" if d != right[at]])
        wrong.append((right[:at] + digit + right[at + 1 :], case.proof()))
    others = [i for i in range(len(case.items)) if i != case.first]
    if case.broken:  # another clause blamed
        at = rng.choice(others)
        wrong.append((_reply(case, at), _trace(case.names(), case.items, at, {at, case.first})))
    return right, tuple(wrong)


def _text_ending(rng: random.Random, case: Case) -> str:
    ask = rng.choice(TEXT_ENDINGS)
    return f"{rng.choice(DOMAINS[case.domain][2])} {ask}" if rng.random() < 0.4 else ask


def text(rng: random.Random) -> Question:
    case, title, gap = _case(rng, two_broken=0)
    asked = f"{title}: {case.rules}.{gap}{case.facts}{gap}{_text_ending(rng, case)}"
    answer, wrong = _replies(case, rng)
    return Question("text", "text", asked, answer, case.proof(), wrong)


# --------------------------------------------------------------------------------------------------------------
# Families of `cite`: the question has the facts, the rules stand in a source

NOTES = ("Version 3.", "Valid from May.", "See the general terms.", "All prices in EUR.", "Please read this.")


# What a source says when the matter of its domain is still open.
OPEN = {
    "refund": ("The return has not arrived yet.", "The shop decides on the refund in {m}."),
    "insurance": ("The damage is not assessed yet.", "The insurer decides on the claim in {m}."),
    "travel": ("The trip has not taken place yet.", "The expense is checked in {m}."),
    "loan": ("The application is not checked yet.", "The bank decides on the loan in {m}."),
    "delivery": ("The goods have not arrived yet.", "The delivery is on its way until {m}."),
}
MONTHS = ("March", "April", "May", "June", "July", "August", "October")

UNANSWERABLE, TOO_EARLY = "unanswerable", "too early"
SOURCE_LETTERS = "ABC"


def _still_open(rng: random.Random, domain: str) -> str:
    return rng.choice(OPEN[domain]).replace("{m}", rng.choice(MONTHS))


def _source(rng: random.Random, case: Case, title: str, open_share: float = 0) -> str:
    """The rules of a case, at times with a note or, in that share, with the remark that its matter is still open."""
    source = f"{title}: {case.rules}." if rng.random() < 0.6 else f"{case.rules}."
    if rng.random() < open_share:
        return " ".join(rng.sample([source, _still_open(rng, case.domain)], 2))
    if rng.random() < 0.2:
        return f"{source} {rng.choice(NOTES)}"
    return f"{rng.choice(NOTES)} {source}" if rng.random() < 0.2 else source


def _among_others(rng: random.Random, case: Case, own: list[str], open_share: float) -> tuple[list[str], list[str]]:
    """The sources on the case among up to two on other domains, three at most, in any order; and the domain of each."""
    most = len(SOURCE_LETTERS) - len(own)
    count = min(most, rng.choice([0, 1, 1, 2]) + (0 if own else 1))
    sources, domains = list(own), [case.domain] * len(own)
    while len(sources) < len(own) + count:
        other, title, _ = _case(rng)
        if other.domain not in (case.domain, *domains):
            sources.append(_source(rng, other, title, open_share))
            domains.append(other.domain)
    order = rng.sample(range(len(sources)), len(sources))
    return [sources[i] for i in order], [domains[i] for i in order]


def _by_domain(domains: list[str], asked: str) -> str:
    """The trace that no source is about the question's domain."""
    return "; ".join([*(f"{letter} {domain}" for letter, domain in zip(SOURCE_LETTERS, domains)), f"asked {asked}"])


def _no_answers(rng: random.Random, case: Case, domains: list[str]) -> dict[str, str]:
    """The non-answers with traces that are lies."""
    others = [rng.choice([domain for domain in DOMAINS if domain != case.domain]) for _ in domains]
    letter = rng.choice(SOURCE_LETTERS[: len(domains)])
    return {UNANSWERABLE: _by_domain(others, case.domain), TOO_EARLY: f"{letter}: {_still_open(rng, case.domain)[:-1]}"}


def _conflicting(rng: random.Random, case: Case) -> tuple[int, Case] | None:
    """The same rules with one limit moved so that the outcome turns, and which; None if no single limit can do that."""
    bounds = {i: item.trace.split() for i, item in enumerate(case.items) if item.trace.split()[1] in ("max", "min")}
    places = [i for i in bounds if case.broken in (set(), {i})]
    if not places:
        return None
    at = rng.choice(places)
    item, (_, kind, limit, _) = case.items[at], bounds[at]
    value, holds = int(bounds[at][0]), not case.items[at].holds
    step = 10 if value >= 100 else 1
    away = step * rng.randint(0 if holds else 1, max(5, value // (2 * step)))
    moved = value + away if holds == (kind == "max") else value - away
    if moved < 1 or moved == int(limit):
        return None
    turned = replace(
        item, clause=item.clause.replace(limit, str(moved)), holds=holds, trace=_compare(value, moved, kind, holds),
        reason=_reason(item.said, moved, kind),
    )  # fmt: skip
    items = [turned if i == at else one for i, one in enumerate(case.items)]
    broken = set() if holds else {at}
    rules = case.rules.replace(item.clause, turned.clause)
    return at, Case(case.domain, items, broken, at if broken else len(items) - 1, rules, case.facts)


def _cited(rng: random.Random, family: str) -> Question:
    """Facts in the question, and up to three sources. `policy` and `text`: one of them has the rules, at times two have the
    same. The quote has all rules, because it precedes the derivation, when the model cannot know yet which rule decides.
    `silent`: no source is about the question. `conflict`: two have rules that differ in one limit, and so in the outcome.
    `early`: one says that the matter is still open."""
    in_words = family == "text" or (family != "policy" and rng.random() < 0.4)
    case, title, _ = _case(rng, 0 if in_words else 0.15)
    turned = _conflicting(rng, case)
    while family == "conflict" and turned is None:
        case, title, _ = _case(rng, 0)
        turned = _conflicting(rng, case)
    answer, wrong = (_replies if in_words else _yes_no)(case, rng)
    proof, quote, no_answer = case.proof(), case.rules, None
    open_share = 0.15

    def source(of: Case, share: float = 0) -> str:
        return _source(rng, of, rng.choice(DOMAINS[case.domain][0]) if of is not case else title, share)

    if family == "silent":
        no_answer, own = UNANSWERABLE, []
    elif family == "conflict":
        at, other = turned
        no_answer, own = UNANSWERABLE, [source(case), source(other)]
    elif family == "early":
        no_answer, remark = TOO_EARLY, _still_open(rng, case.domain)
        rules = source(case)
        own = [" ".join(rng.sample([rules, remark], 2))] if rng.random() < 0.5 else [remark, *([rules] if rng.random() < 0.6 else [])]
    else:
        own = [source(case)]
        if rng.random() < 0.12:
            own.append(source(case))
    sources, domains = _among_others(rng, case, own, open_share)
    letters = SOURCE_LETTERS[: len(sources)]
    lies = _no_answers(rng, case, domains)
    right = [(answer, proof), *wrong]
    if family == "silent":
        proof, wrong = _by_domain(domains, case.domain), (*right, (TOO_EARLY, lies[TOO_EARLY]))
    elif family == "conflict":
        both = [(letter, case if one == own[0] else other) for letter, one in zip(letters, sources) if one in own]
        proof = "; ".join(f"{letter} c{at + 1} {of.items[at].trace}" for letter, of in both)
        theirs = (_replies if in_words else _yes_no)(other, rng)[0]
        wrong = ((answer, case.proof()), (theirs, other.proof()), (TOO_EARLY, lies[TOO_EARLY]))
    elif family == "early":
        letter = next(letter for letter, one in zip(letters, sources) if remark in one)
        proof, wrong = f"{letter}: {remark[:-1]}", (*right, (UNANSWERABLE, lies[UNANSWERABLE]))
    else:
        said = rng.choice([UNANSWERABLE, TOO_EARLY])
        wrong = (*wrong, (said, lies[said]))
    deciding = "A" if no_answer else next(letter for letter, one in zip(letters, sources) if case.rules in one)
    if in_words:
        ending = f"{rng.choice(DOMAINS[case.domain][2])} {rng.choice(TEXT_ENDINGS)}" if no_answer else _text_ending(rng, case)
    else:
        ending = rng.choice(DOMAINS[case.domain][2])
    return Question(
        family, "text" if in_words else "boolean", f"{case.facts} {ending}", no_answer or answer, proof, tuple(wrong),
        tuple(sources), deciding, "" if no_answer else quote,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------------
# Family: choose (choice)

OFFERS = (
    # questions, wants the least, unit before/after, range
    (("Which offer is cheapest?", "Which bid is the lowest?", "Which price is the smallest?"), True, "{n}", (10, 999)),
    (("Which offer is cheapest?", "Which quote costs least?"), True, "{n} EUR", (10, 999)),
    (("Which option is largest?", "Which bid is the highest?", "Which value is the greatest?"), False, "{n}", (10, 999)),
    (("Which supplier is fastest?", "Which delivery is quickest?"), True, "{n} days", (2, 60)),
    (("Which day is earliest?", "Which date comes first?"), True, "day {n}", (1, 99)),
    (("Which day is latest?", "Which date comes last?"), False, "day {n}", (1, 99)),
    (("Which tank holds the most?", "Which parcel is heaviest?"), False, "{n} kg", (5, 500)),
    (("Which route is shortest?", "Which way is the shortest?"), True, "{n} km", (5, 500)),
)

LETTERS = "ABCD"


def _best_trace(values: list[int], least: bool, slip: int = -1) -> tuple[str, int]:
    """Running comparison, and the index it ends at. At `slip` the comparison goes the wrong way."""
    best, steps = 0, [f"A {values[0]}"]
    for i in range(1, len(values)):
        better = ((values[i] < values[best]) == least) != (i == slip)
        size = "less" if better == least else "more"
        steps.append(f"{values[i]} vs {values[best]} {size} {LETTERS[i] if better else LETTERS[best]}")
        best = i if better else best
    return "; ".join(steps), best


def choose(rng: random.Random) -> Question:
    if rng.random() < 0.35:
        return _broken_rule(rng)
    questions, least, unit, (low, high) = rng.choice(OFFERS)
    count = rng.choice([3, 3, 4])
    step = 1
    if high > 99 and rng.random() < 0.6:  # short numbers, or round ones
        low, high = min(low, 40), 99
    elif high > 99:
        low, high, step = max(100, low), high // 10 * 10, 10
    if rng.random() < 0.25:  # close to each other
        start = rng.randrange(low, high - 8 * step)
        low, high = start // step * step, start // step * step + 8 * step
    values = rng.sample(range(low, high + 1, step), count)
    style = rng.choice(["{}) {}", "{}) {}", "{}: {}", "{} = {}"])
    join = rng.choice([" ", ", "])
    options = join.join(style.format(LETTERS[i], unit.replace("{n}", str(v))) for i, v in enumerate(values))
    question = rng.choice(questions)
    text = f"{question} {options}" if rng.random() < 0.7 else f"Options: {options}. {question}"
    proof, best = _best_trace(values, least)
    wrong = []
    for _ in range(4):
        slip, end = _best_trace(values, least, rng.randrange(1, count))
        if end == best:
            end = rng.choice([i for i in range(count) if i != best])
        wrong.append((LETTERS[end], slip))
    return Question("choose", f"choice A-{LETTERS[count - 1]}", text, LETTERS[best], proof, tuple(wrong))


def _broken_rule(rng: random.Random) -> Question:
    count = 3
    at = rng.randrange(count)
    domain, items = _rules(rng, count, {at})
    style = rng.choice(["{}) ", "{}) ", "({}) "])
    clauses = "; ".join(style.format(LETTERS[i]) + item.clause for i, item in enumerate(items))
    facts = [item.fact for item in items]
    if rng.random() < 0.35:
        rng.shuffle(facts)
    question = rng.choice(["Which rule is broken?", "Which clause is violated?", "Which clause fails?"])
    text = f"{rng.choice(['Rules', 'Policy', 'Clauses'])}: {clauses}. {rng.choice(CLAIM_WORDS)}: {', '.join(facts)}. {question}"
    names = list(LETTERS[:count])
    proof = _trace(names, items, at)
    wrong = []
    for other in [i for i in range(count) if i != at]:
        wrong.append((LETTERS[other], _trace(names, items, other, {other, at})))
    return Question("choose", "choice A-C", text, LETTERS[at], proof, tuple(wrong))


# --------------------------------------------------------------------------------------------------------------
# Family: sum (number)

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
NAMES = "Ann Ben Cara Dan Eva Finn Gina Hugo Ida Jan Kim Leo Mia Nils Olga Paul".split()
GOODS = "apples books cards coins eggs files keys pens seats stamps tickets tokens".split()


def words_of(n: int) -> str:
    if n < 20:
        return ONES[n]
    return TENS[n // 10] + (f"-{ONES[n % 10]}" if n % 10 else "")


def _add_trace(a: int, b: int, carry_slip: bool = False) -> tuple[str, int]:
    units = a % 10 + b % 10
    carry = units // 10
    tens = a // 10 + b // 10 + (0 if carry_slip else carry)
    shown = f"{a // 10}+{b // 10}" + ("+1" if carry and not carry_slip else "")
    total = tens * 10 + units % 10
    return f"{a}+{b}: {a % 10}+{b % 10}={units}; {shown}={tens}; {total}", total


def _sub_trace(a: int, b: int, borrow_slip: bool = False) -> tuple[str, int]:
    borrow = a % 10 < b % 10
    units = a % 10 - b % 10 + (10 if borrow else 0)
    take = borrow and not borrow_slip
    tens = a // 10 - b // 10 - (1 if take else 0)
    top = f"1{a % 10}" if borrow else f"{a % 10}"
    shown = f"{a // 10}-{b // 10}" + ("-1" if take else "")
    total = tens * 10 + units
    return f"{a}-{b}: {top}-{b % 10}={units}; {shown}={tens}; {total}", total


def _sum_text(rng: random.Random, a: int, b: int, plus: bool) -> str:
    p, q = rng.sample(NAMES, 2)
    g = rng.choice(GOODS)
    x, y = (words_of(a), words_of(b)) if rng.random() < 0.35 else (str(a), str(b))
    if plus:
        return rng.choice(
            [
                f"What is {x} plus {y}?",
                f"What is {x} + {y}?",
                f"How much is {x} plus {y}?",
                f"Add {x} and {y}.",
                f"What is the sum of {x} and {y}?",
                f"{p} pays {x} EUR and {q} {y} EUR. How much together?",
                f"{p} has {x} {g} and {q} has {y}. How many {g} in all?",
                f"{p} had {x} {g} and got {y} more. How many now?",
                f"A bill of {x} EUR and a fee of {y} EUR: what is the total in EUR?",
                f"{x.capitalize()} votes came in before noon and {y} after. How many votes?",
            ]
        )
    return rng.choice(
        [
            f"What is {x} minus {y}?",
            f"What is {x} - {y}?",
            f"How much is {x} minus {y}?",
            f"Take {y} from {x}. What is left?",
            f"What is the difference of {x} and {y}?",
            f"{p} has {x} {g} and gives {q} {y}. How many are left?",
            f"{p} had {x} EUR and paid {y} EUR. How much is left?",
            f"Of {x} {g}, {y} are sold. How many remain?",
            f"A budget of {x} EUR, {y} EUR spent: what remains in EUR?",
        ]
    )


def total(rng: random.Random) -> Question:
    plus = rng.random() < 0.6
    low = 1 if rng.random() < 0.15 else 10
    a, b = rng.randint(low, 99), rng.randint(low, 99)
    if not plus and a < b:
        a, b = b, a
    trace = _add_trace if plus else _sub_trace
    proof, value = trace(a, b)
    wrong = []
    for _ in range(3):
        kind = rng.randrange(5)
        slip, bad = trace(a, b, True) if kind < 2 else (None, value)
        if bad == value:  # no carry to forget: another slip
            bad = max(0, value + rng.choice([-10, 10, -1, 1, 2, -2, 9, -9, 20, rng.randint(3, 40)]))
            bad = bad if bad != value else value + 10
            slip = proof.rsplit("; ", 1)[0] + f"; {bad}"
            if kind == 4:
                other, value2 = (_sub_trace(max(a, b), min(a, b)) if plus else _add_trace(a, b))
                if value2 != value:
                    slip, bad = other, value2
        wrong.append((str(bad), slip))
    return Question("sum", "number 0", _sum_text(rng, a, b, plus), str(value), proof, tuple(wrong))


# --------------------------------------------------------------------------------------------------------------
# Family: wason (choice)

VOWELS, CONSONANTS = "EIOU", "FGHJKLMNPRSTVWXZ"
LETTER_RULES = [(letter, digit) for letter in ("vowel", "consonant") for digit in ("even", "odd")]


def _letter(rng: random.Random, kind: str) -> str:
    return rng.choice(VOWELS if kind == "vowel" else CONSONANTS)


def _digit(rng: random.Random, kind: str) -> str:
    return str(rng.randrange(2, 99) // 2 * 2 + (0 if kind == "even" else 1)) if rng.random() < 0.5 else rng.choice(
        "2468" if kind == "even" else "3579"
    )


def wason(rng: random.Random) -> Question:
    letter, digit = rng.choice(LETTER_RULES)
    not_letter = "consonant" if letter == "vowel" else "vowel"
    not_digit = "odd" if digit == "even" else "even"
    cards = [
        (_letter(rng, letter), letter, True),
        (_letter(rng, not_letter), not_letter, False),
        (_digit(rng, digit), digit, False),
        (_digit(rng, not_digit), not_digit, True),
    ]
    rng.shuffle(cards)
    faces = [card[0] for card in cards]
    first = next(card for card in cards if card[1] == letter)
    options = [card for card in cards if card is not first]
    rng.shuffle(options)
    # The letter stands after its card, so that looking an option up is plain copying.
    listed = ", ".join(f"{card[0]} ({LETTERS[i]})" for i, card in enumerate(options))
    rule = rng.choice(
        [
            f"if {letter} then {digit}",
            f"a card with a {letter} has an {digit} number behind",
            f"every {letter} has an {digit} number on its back",
        ]
    )
    ask = rng.choice(["Which other must be turned?", "Which other card tests the rule?", "Which other card to turn?"])
    text = f"{rng.choice(['Cards', 'Four cards'])}: {', '.join(faces)}. Rule: {rule}. {first[0]} is turned. {ask} {listed}"
    right = next(i for i, card in enumerate(options) if card[2])
    proof = _wason_trace(cards, options, right, first)
    wrong = [(LETTERS[i], _wason_trace(cards, options, i, first)) for i in range(3) if i != right]
    return Question("wason", "choice A-C", text, LETTERS[right], proof, tuple(wrong))


Card = tuple[str, str, bool]


def _wason_trace(cards: list[Card], options: list[Card], at: int, first: Card) -> str:
    chosen = options[at]
    steps = [f"{card[0]} {card[1]} {'turn' if card is chosen or card is first else 'no'}" for card in cards]
    return "; ".join(steps) + f"; {chosen[0]} ({LETTERS[at]})"


# --------------------------------------------------------------------------------------------------------------
# Family: policies (a set of options)

BUDGETS = (
    # what is asked, questions, unit, comparison, range
    ("Budget {n} EUR.", ("Which fit?", "Which fit the budget?", "Which can be paid?"), "{n} EUR", "max", (20, 900)),
    ("Deadline: {n} days.", ("Which fit?", "Which are in time?"), "{n} days", "max", (5, 90)),
    ("At most {n} kg.", ("Which fit?", "Which are allowed?"), "{n} kg", "max", (5, 90)),
    ("At least {n} units required.", ("Which fit?", "Which are allowed?"), "{n} units", "min", (20, 500)),
)


def _fitting(values: list[int], limit: int, kind: str, flipped: int = -1) -> tuple[str, str]:
    """The letters that fit and the trace. At `flipped` the judgement is wrong."""
    holds = [(value <= limit if kind == "max" else value >= limit) != (i == flipped) for i, value in enumerate(values)]
    steps = [f"{POLICY_LETTERS[i]} {_compare(value, limit, kind, holds[i])}" for i, value in enumerate(values)]
    return ",".join(letter for letter, ok in zip(POLICY_LETTERS, holds) if ok), "; ".join(steps)


POLICY_LETTERS = "ABCDE"


def policies(rng: random.Random) -> Question:
    condition, asks, unit, kind, (low, high) = rng.choice(BUDGETS)
    limit = _round(rng, rng.randint(low, high))
    count = rng.choice([3, 3, 4, 4, 4, 5])
    sides = [rng.random() < 0.5 for _ in range(count)]
    if not any(sides):
        sides[rng.randrange(count)] = True
    values = [_value(rng, limit, kind, side) for side in sides]
    style = rng.choice(["({}) {}", "({}) {}", "{}) {}"])
    options = rng.choice([" ", ", "]).join(
        style.format(POLICY_LETTERS[i], unit.replace("{n}", str(value))) for i, value in enumerate(values)
    )
    asked = f"{condition.replace('{n}', str(limit))} {rng.choice(['Policies', 'Options'])}: {options}. {rng.choice(asks)}"
    answer, proof = _fitting(values, limit, kind)
    wrong = [one for i in range(count) if (one := _fitting(values, limit, kind, i))[0]]
    rng.shuffle(wrong)
    return Question("policies", f"policies A-{POLICY_LETTERS[count - 1]}", asked, answer, proof, tuple(wrong[:3]))


FAMILIES: dict[str, Callable[[random.Random], Question]] = {
    "policy": policy,
    "choose": choose,
    "sum": total,
    "wason": wason,
    "text": text,
    "policies": policies,
}
CITED = ("policy", "text", "silent", "conflict", "early")
SOURCED = (0.35, 0.2, 0.15, 0.15, 0.15)  # their shares in the family `source`


def question(rng: random.Random, split: str, family: str, cited: bool = False) -> Question:
    """A question of one split, by rejection. The family `source` has the questions of `CITED`, with sources."""
    if family == "source":
        family, cited = rng.choices(CITED, SOURCED)[0], True
    while True:
        made = _cited(rng, family) if cited else FAMILIES[family](rng)
        if split_of(made.text) == split and len(made.proof) <= 110 and all(len(p) <= 130 for _, p in made.wrong):
            return made
