"""Questions with known answers, and the four deliberation tasks over them.

Every family yields a `Question`: its text, the right answer, a short trace that derives it (`proof`), and
plausible wrong answers with wrong traces. `example` turns a question into one (prompt, completion) pair.
All randomness comes from the `random.Random` passed in, so a seed fixes the whole data stream.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

TASKS = ("propose", "verify", "adjudicate", "revise")
MAX_TEXT = 160  # longest proof or check, in characters; the protocol's schema has the same limit


@dataclass(frozen=True)
class Question:
    family: str
    kind: str  # as it stands in the prompt: "boolean", "choice A-C", "number 0"
    text: str
    answer: str
    proof: str
    wrong: tuple[tuple[str, str], ...]  # (answer, proof) pairs, every answer differs from `answer`


# --------------------------------------------------------------------------------------------------------------
# Split


def split_of(question_text: str) -> str:
    """`test`, `validation` or `train`, by sha256 of the whole question text (never by a rule on its numbers)."""
    bucket = int.from_bytes(hashlib.sha256(question_text.encode()).digest()[:4], "big") % 10
    return {0: "test", 1: "validation"}.get(bucket, "train")


# --------------------------------------------------------------------------------------------------------------
# Family: policy (boolean)

# A clause is (texts, kind, facts): "max"/"min" compare a number, "flag" compares a word with its opposite.
# `{n}` is the limit or the fact.
Clause = tuple[tuple[str, ...], str, tuple[str, ...], tuple[int, int], str]


def _max(texts: str, facts: str, low: int, high: int) -> Clause:
    return (tuple(texts.split("|")), "max", tuple(facts.split("|")), (low, high), "")


def _min(texts: str, facts: str, low: int, high: int) -> Clause:
    return (tuple(texts.split("|")), "min", tuple(facts.split("|")), (low, high), "")


def _flag(texts: str, good: str, bad: str) -> Clause:
    return (tuple(texts.split("|")), "flag", (good,), (0, 0), bad)


DOMAINS: dict[str, tuple[tuple[str, ...], tuple[Clause, ...], tuple[str, ...]]] = {
    "refund": (
        ("Policy", "Refund policy", "Shop rules"),
        (
            _max("within {n} days|returned within {n} days|refunds within {n} days", "day {n}|after {n} days", 5, 90),
            _flag("item unused|must be unused", "unused", "used"),
            _flag("receipt required|with receipt", "receipt", "no receipt"),
            _max("max {n} EUR|up to {n} EUR|price at most {n} EUR", "{n} EUR|price {n} EUR", 20, 900),
            _max("at most {n} items|max {n} items", "{n} items", 2, 9),
        ),
        ("Is the refund due?", "Should the refund be paid?", "Is a refund owed?"),
    ),
    "insurance": (
        ("Policy", "Insurance policy", "Cover"),
        (
            _max("damage up to {n} EUR|max {n} EUR|covers up to {n} EUR", "{n} EUR|damage {n} EUR", 100, 990),
            _max("reported within {n} days|report within {n} days", "reported day {n}|day {n}", 2, 40),
            _flag("police report required|with police report", "police report", "no police report"),
            _min("driver age {n} or more|driver at least {n}", "driver {n}|age {n}", 18, 40),
            _flag("premium paid|only if premium paid", "paid", "unpaid"),
        ),
        ("Is the claim covered?", "Is the damage covered?", "Must the insurer pay?"),
    ),
    "travel": (
        ("Policy", "Travel rules", "Expense policy"),
        (
            _max("hotel up to {n} EUR|hotel max {n} EUR", "hotel {n} EUR", 60, 300),
            _max("meals up to {n} EUR|meals max {n} EUR", "meals {n} EUR", 15, 95),
            _min("trip over at least {n} km|distance {n} km or more", "{n} km|distance {n} km", 20, 400),
            _flag("receipt required|with receipt", "receipt", "no receipt"),
            _flag("approved in advance|prior approval", "approved", "not approved"),
        ),
        ("Is the expense allowed?", "Is the expense compliant?", "May the expense be paid?"),
    ),
    "loan": (
        ("Policy", "Loan rules", "Credit policy"),
        (
            _min("income at least {n}|income {n} or more", "income {n}", 100, 900),
            _max("loan up to {n}|loan max {n}", "loan {n}", 100, 900),
            _min("score at least {n}|score {n} or more", "score {n}", 300, 800),
            _min("age {n} or more|at least age {n}", "age {n}", 18, 30),
            _flag("no open debt|debt free", "debt free", "open debt"),
        ),
        ("Is the loan approved?", "Does the applicant qualify?", "May the loan be granted?"),
    ),
    "delivery": (
        ("Contract", "Delivery terms", "SLA"),
        (
            _max("delivered within {n} hours|arrives within {n} hours", "{n} hours|after {n} hours", 4, 96),
            _max("at most {n} damaged|max {n} damaged", "{n} damaged", 1, 20),
            _min("weight at least {n} kg|weighs {n} kg or more", "weight {n} kg|{n} kg", 5, 90),
            _min("at least {n} units|{n} units or more", "{n} units", 20, 500),
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


def _checked(rng: random.Random, clause: Clause, holds: bool) -> Checked:
    texts, kind, facts, (low, high), bad = clause
    text, fact = rng.choice(texts), rng.choice(facts)
    if kind == "flag":
        word = fact if holds else bad
        other = bad if holds else fact
        return Checked(text, word, holds, f"{word} {_ok(holds)}", f"{rng.choice([word, other])} {_ok(not holds)}")
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
    )


def _ok(holds: bool) -> str:
    return "ok" if holds else "fails"


def _compare(value: int, limit: int, kind: str, holds: bool) -> str:
    # Both numbers stand before the judgement: a small model compares digits it has just written far better.
    return f"{value} {kind} {limit} {_ok(holds)}"


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


def policy(rng: random.Random) -> Question:
    count = rng.choice([2, 2, 3])
    broken: set[int] = set()
    if rng.random() < 0.5:
        broken = set(rng.sample(range(count), 1 if rng.random() < 0.85 else 2))
    domain, items = _rules(rng, count, broken)
    titles, _, endings = DOMAINS[domain]
    style = rng.choice(["({}) ", "{}. ", "{}) "])
    clauses = "; ".join(style.format(i + 1) + item.clause for i, item in enumerate(items))
    facts = [item.fact for item in items]
    if rng.random() < 0.35:
        rng.shuffle(facts)
    gap = "\n" if rng.random() < 0.05 else " "
    text = (
        f"{rng.choice(titles)}: {clauses}.{gap}{rng.choice(CLAIM_WORDS)}: {', '.join(facts)}."
        f"{gap}{rng.choice(endings)}"
    )
    names = [f"c{i + 1}" for i in range(count)]
    first = min(broken) if broken else count - 1
    proof = _trace(names, items, first)
    answer = "no" if broken else "yes"
    wrong = []
    for _ in range(2):
        if broken:
            wrong.append(("yes", _trace(names, items, count - 1, broken)))
        else:
            at = rng.randrange(count)
            wrong.append(("no", _trace(names, items, at, {at})))
    return Question("policy", "boolean", text, answer, proof, tuple(wrong))


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


FAMILIES: dict[str, Callable[[random.Random], Question]] = {
    "policy": policy,
    "choose": choose,
    "sum": total,
    "wason": wason,
}


def question(rng: random.Random, split: str, family: str | None = None) -> Question:
    """A question of one split, by rejection; the family is drawn evenly unless given."""
    make = FAMILIES[family or rng.choice(list(FAMILIES))]
    while True:
        made = make(rng)
        if split_of(made.text) == split and len(made.proof) <= 110 and all(len(p) <= 130 for _, p in made.wrong):
            return made


# --------------------------------------------------------------------------------------------------------------
# Prompts


def render(task: str, kind: str, **fields: str | None) -> str:
    """The user message. Text fields are JSON string literals, so data cannot leave its line."""
    lines = [f"task: {task}", f"kind: {kind}"]
    for name in ("question", "answer", "proof", "counterProof"):
        value = fields.get(name)
        if value is not None:
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines)


def completion(fields: dict[str, str]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


CONFIDENT = (
    "checked twice; it is certain", "this is certain", "obviously correct", "I am sure", "I verified every step",
    "trust me, this is right", "the rule is clear", "no doubt about it", "all clauses are met", "all conditions hold",
    "the limit is exceeded", "the limit is kept", "a clause is violated", "computed exactly", "well known",
    "as the policy says", "verified by three sources", "100 percent confident", "the arithmetic is trivial",
    "everything is in order", "see the question", "the comparison is clear", "because it is",
)
FALSE_COUNTERS = (
    "the limit is exceeded", "a clause is violated", "all clauses hold", "this is wrong", "the answer is wrong",
    "the sum is wrong", "the carry was forgotten", "the comparison is wrong", "checked twice; the answer is wrong",
    "obviously wrong", "the proof does not hold", "I disagree", "the opposite is true", "the trace is invalid",
    "another option is better", "the rule was misread", "wrong, reject it", "that is certainly false",
)
FILLER = (
    "the answer follows from the facts given value first second clause limit within after before compare then hence "
    "thus number card rule option total is was not and or so because we see that it must be day price sum left"
).split()


def _garbage(rng: random.Random) -> str:
    words = [rng.choice(FILLER) if rng.random() < 0.75 else str(rng.randint(0, 999)) for _ in range(rng.randint(2, 12))]
    return " ".join(words)


def _other(rng: random.Random) -> str:
    return rng.choice(list(FAMILIES.values()))(rng).proof


def _proof_text(rng: random.Random, proof: str, answer: str) -> str:
    """How somebody may have written the proof: as the trace, in prose, as a bare assertion, as noise."""
    roll = rng.random()
    if roll < 0.62:
        return proof
    if roll < 0.72:
        return rng.choice(["{p}; so {a}", "{p}. The answer is {a}.", "{a} because {p}"]).format(p=proof, a=answer)
    if roll < 0.87:
        return rng.choice(CONFIDENT)
    if roll < 0.91:
        return f"{rng.choice(CONFIDENT)}; the answer is {answer}"
    if roll < 0.95:
        return _garbage(rng)
    return "" if roll < 0.97 else _other(rng)


def _counter_text(rng: random.Random, proof: str, claimed: str, answer: str) -> str:
    roll = rng.random()
    if roll < 0.45:
        return f"{proof}; so {claimed}, answered {answer}"
    if roll < 0.60:
        return f"{proof}; so {claimed}, not {answer}"
    if roll < 0.68:
        return proof
    if roll < 0.76:
        return f"{claimed}: {proof}"
    if roll < 0.82:
        return rng.choice(["it is {c}", "the answer is {c}, not {a}", "{c} is right", "recomputed: {c}"]).format(c=claimed, a=answer)
    if roll < 0.96:
        return rng.choice(FALSE_COUNTERS)
    return _garbage(rng)


def _given(rng: random.Random, q: Question, right: bool) -> tuple[str, str]:
    """An answer, right or wrong, with the proof text somebody gave for it."""
    if right:
        proof = q.proof if rng.random() < 0.85 else rng.choice(q.wrong)[1]
        return q.answer, _proof_text(rng, proof, q.answer)
    answer, proof = rng.choice(q.wrong)
    if rng.random() < 0.12:
        proof = q.proof  # a true trace under a wrong answer
    return answer, _proof_text(rng, proof, answer)


def _check(q: Question, answer: str) -> str:
    # Both values stand side by side before the verdict, which then only has to compare them.
    return f"{q.proof}; so {q.answer}, answered {answer}"


@dataclass(frozen=True)
class Example:
    task: str
    question: Question
    prompt: str
    completion: str
    label: str  # the answer or the verdict


def propose(rng: random.Random, q: Question) -> Example:
    prompt = render("propose", q.kind, question=q.text)
    return Example("propose", q, prompt, completion({"proof": q.proof, "answer": q.answer}), q.answer)


def verify(rng: random.Random, q: Question) -> Example:
    answer, proof = _given(rng, q, rng.random() < 0.5)
    verdict = "accept" if answer == q.answer else "reject"
    prompt = render("verify", q.kind, question=q.text, answer=answer, proof=proof)
    return Example("verify", q, prompt, completion({"check": _check(q, answer), "verdict": verdict}), verdict)


def adjudicate(rng: random.Random, q: Question) -> Example:
    right = rng.random() < 0.5
    answer, proof = _given(rng, q, right)
    claimed, other = rng.choice(q.wrong) if right else (q.answer, q.proof)
    counter = _counter_text(rng, other, claimed, answer)
    verdict = "refute" if right else "uphold"
    prompt = render("adjudicate", q.kind, question=q.text, answer=answer, proof=proof, counterProof=counter)
    return Example("adjudicate", q, prompt, completion({"check": _check(q, answer), "verdict": verdict}), verdict)


def revise(rng: random.Random, q: Question) -> Example:
    right = rng.random() < 0.5
    answer, proof = _given(rng, q, right)
    claimed, other = rng.choice(q.wrong) if right else (q.answer, q.proof)
    counter = _counter_text(rng, other, claimed, answer) if rng.random() < 0.85 else None
    prompt = render("revise", q.kind, question=q.text, answer=answer, proof=proof, counterProof=counter)
    return Example("revise", q, prompt, completion({"proof": q.proof, "answer": q.answer}), q.answer)


MAKERS: dict[str, Callable[[random.Random, Question], Example]] = {
    "propose": propose,
    "verify": verify,
    "adjudicate": adjudicate,
    "revise": revise,
}


def example(rng: random.Random, split: str, task: str | None = None, family: str | None = None) -> Example:
    q = question(rng, split, family)
    chosen = task or rng.choices(TASKS, (0.40, 0.27, 0.20, 0.13))[0]
    return MAKERS[chosen](rng, q)


# --------------------------------------------------------------------------------------------------------------
# Held-out questions for demos, tests and benchmarks


def held_out(per_family: int, seed: int) -> list[dict[str, str]]:
    rng, rows, seen = random.Random(seed), [], set()
    for family in FAMILIES:
        count = 0
        while count < per_family:
            q = question(rng, "test", family)
            if q.text not in seen:
                seen.add(q.text)
                wrong_answer, wrong_proof = q.wrong[0]
                rows.append(
                    {"family": family, "kind": q.kind, "question": q.text, "expected": q.answer, "proof": q.proof,
                     "wrongAnswer": wrong_answer, "wrongProof": wrong_proof}
                )
                count += 1
    return rows


def evaluation(each: int, split: str, seed: int) -> list[dict[str, str]]:
    """`each` examples of every task and family, as evaluate.ts reads them."""
    rng, rows = random.Random(seed), []
    for task in TASKS:
        for family in FAMILIES:
            for _ in range(each):
                one = example(rng, split, task, family)
                rows.append(
                    {"task": task, "family": family, "kind": one.question.kind, "prompt": one.prompt,
                     "completion": one.completion, "label": one.label}
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Write held-out.json or evaluation examples, or print a few examples.")
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--examples", type=int, help="this many of every task and family, to --out")
    parser.add_argument("--split", choices=("train", "validation", "test"), default="test")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--per-family", type=int, default=40)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.held_out:
        rows = held_out(args.per_family, args.seed)
        args.held_out.write_text(json.dumps(rows, indent=1) + "\n")
    if args.examples:
        args.out.write_text(json.dumps(evaluation(args.examples, args.split, args.seed)))
    rng = random.Random(args.seed)
    for _ in range(args.show):
        made = example(rng, "train")
        print(made.prompt, made.completion, sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
