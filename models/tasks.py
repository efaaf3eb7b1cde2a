"""The deliberation tasks over the questions of `questions.py`: one (prompt, completion) pair each.

All randomness comes from the `random.Random` passed in, so a seed fixes the whole data stream.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from questions import CITED, FAMILIES, TOO_EARLY, UNANSWERABLE, Question, question

TASKS = (
    "propose", "verify", "adjudicate", "revise", "score", "match", "critique", "synthesize", "converge", "cite"
)  # fmt: skip
PEERS = "ABCDEFG"


def families_of(task: str) -> tuple[str, ...]:
    if task == "cite":
        return CITED
    if task == "match":
        return ("text",)
    return (*FAMILIES, "source") if task in ("verify", "adjudicate", "revise", "critique") else tuple(FAMILIES)


CELLS = tuple((task, family) for task in TASKS for family in families_of(task))

# --------------------------------------------------------------------------------------------------------------
# Prompts


def render(task: str, kind: str, fields: dict[str, str | None]) -> str:
    """The user message. Text fields are JSON string literals, so data cannot leave its line."""
    lines = [f"task: {task}", f"kind: {kind}"]
    lines += [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value is not None]
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


def _unrelated(rng: random.Random) -> str:
    return rng.choice(list(FAMILIES.values()))(rng).proof


def _proof_text(rng: random.Random, proof: str, answer: str) -> str:
    """The forms in which a peer may have written the proof: the trace, prose, a bare assertion, noise."""
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
    return "" if roll < 0.97 else _unrelated(rng)


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
    """An answer, right or wrong, with the proof text of its author."""
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


def _peers(rng: random.Random, q: Question, low: int, high: int) -> list[tuple[str, str]]:
    """What other members answered: mostly few of them, mostly right, mostly wrong or mixed."""
    count = rng.randint(low, high) if rng.random() < 0.45 else rng.randint(low, min(3, high))
    share = rng.choice([0.15, 0.5, 0.85])
    return [_given(rng, q, rng.random() < share) for _ in range(count)]


def _said(peer: tuple[str, str]) -> str:
    return f"{peer[0]}: {peer[1]}"


AGREES = ": agrees"


@dataclass(frozen=True)
class Example:
    task: str
    question: Question
    prompt: str
    fields: dict[str, str]  # what the model is to write
    judged: tuple[str, ...]  # the fields that must be right: the answer, the verdict, all that is not prose

    @property
    def completion(self) -> str:
        return completion(self.fields)

    def decisions(self) -> list[int]:
        """Where in the completion a judged value begins, or for critiques where it ends or agrees."""
        at, places = 0, []
        for name, value in self.fields.items():
            at += len(json.dumps(name)) + 2  # "{" or ",", and ":"
            if name in self.judged:
                places.append(at + (len(value.removesuffix(AGREES)) + 1 if self.task == "critique" else 1))
            at += len(json.dumps(value))
        return places


def _made(task: str, q: Question, given: dict[str, str | None], fields: dict[str, str], *judged: str) -> Example:
    return Example(task, q, render(task, q.kind, {"question": q.text, **given}), fields, judged)


def _answer(q: Question) -> dict[str, str]:
    cited = {"quote": q.quote, "source": q.source} if q.sources else {}
    return {**cited, "proof": q.proof, "answer": q.answer}


def _sources(q: Question) -> dict[str, str]:
    return {f"source{PEERS[i]}": source for i, source in enumerate(q.sources)}


def _quoted(rng: random.Random, q: Question, answer: str) -> dict[str, str]:
    """The documents, and the quote from them of the peer who gave this answer; a non-answer has none."""
    if answer in (UNANSWERABLE, TOO_EARLY):
        return _sources(q)
    quotes = [q.quote, q.quote, *q.quote.split("; "), *q.sources] if q.quote else q.sources
    return {"quote": rng.choice(quotes), **_sources(q)} if q.sources else {}


def propose(rng: random.Random, q: Question) -> Example:
    return _made("propose", q, {}, _answer(q), "answer")


def verify(rng: random.Random, q: Question) -> Example:
    answer, proof = _given(rng, q, rng.random() < 0.5)
    verdict = "accept" if answer == q.answer else "reject"
    given = {"answer": answer, "proof": proof, **_quoted(rng, q, answer)}
    return _made("verify", q, given, {"check": _check(q, answer), "verdict": verdict}, "verdict")


def adjudicate(rng: random.Random, q: Question) -> Example:
    right = rng.random() < 0.5
    answer, proof = _given(rng, q, right)
    claimed, other = rng.choice(q.wrong) if right else (q.answer, q.proof)
    counter = _counter_text(rng, other, claimed, answer)
    verdict = "refute" if right else "uphold"
    given = {"answer": answer, "proof": proof, "counterProof": counter, **_quoted(rng, q, answer)}
    return _made("adjudicate", q, given, {"check": _check(q, answer), "verdict": verdict}, "verdict")


def _objection(rng: random.Random, q: Question, right: bool, answer: str) -> str:
    claimed, other = rng.choice(q.wrong) if right else (q.answer, q.proof)
    return _counter_text(rng, other, claimed, answer)


def _against(rng: random.Random, q: Question, right: bool, answer: str) -> str:
    """What a member reads of the others: an objection, an answer with its proof, how many gave it, or a critique."""
    roll = rng.random()
    if roll < 0.3:
        return _objection(rng, q, right, answer)
    peer = _given(rng, q, rng.random() < 0.5)
    if roll < 0.6:
        return _said(peer)
    if roll < 0.8:
        members = rng.randint(4, 9)
        return f"{rng.randint(1, members)} of {members} members: {_said(peer) if rng.random() < 0.8 else peer[0]}"
    return f"so {peer[0]}, answered {answer}{AGREES if peer[0] == answer else ''}"


def revise(rng: random.Random, q: Question) -> Example:
    right = rng.random() < 0.5
    answer, proof = _given(rng, q, right)
    counter = _against(rng, q, right, answer) if rng.random() < 0.75 else None
    others = None
    if rng.random() < 0.4:
        count = rng.choice([1, 1, 2, 2, 3, 4, 5])
        others = " | ".join(_against(rng, q, right, answer) for _ in range(count))
    own = {"answer": answer, "proof": proof} if rng.random() < 0.95 else {}
    given = {**own, "counterProof": counter, "others": others, **_sources(q)}
    return _made("revise", q, given, _answer(q), *(("quote", "source") if q.sources else ()), "answer")


CRITERIA = ("contradiction", "fabrication", "instruction", "context", "logic")


def score(rng: random.Random, q: Question) -> Example:
    """Right answers get full marks, but 12 for logic without the true derivation; wrong answers get few."""
    answer, proof = _given(rng, q, rng.random() < 0.5)
    marks = (20, 20, 20, 20, 20 if q.proof in proof else 12) if answer == q.answer else (4, 6, 10, 10, 4)
    fields = {"check": _check(q, answer), **{name: str(mark) for name, mark in zip(CRITERIA, marks)}}
    return _made("score", q, {"answer": answer, "proof": proof}, fields, *CRITERIA)


def _reworded(rng: random.Random, answer: str) -> str:
    """The same text in other words, case or punctuation."""
    bare = answer.rstrip(".")
    head, colon, reason = bare.partition(": ")
    forms = [answer, bare, bare.lower(), f"{answer} "]
    if colon:
        forms += [
            f"{head}, because {reason}.", f"{head}. Reason: {reason}.", f"{head} since {reason}", f"{head} ({reason})",
            f"{head}: {reason.replace('more than', 'above').replace('less than', 'below')}.",
        ]  # fmt: skip
    else:
        forms += [f"The answer is: {answer}", f"{bare}, all clauses are met.", f"Yes: {bare.lower()}."]
    return rng.choice(forms)


def match(rng: random.Random, q: Question) -> Example:
    """True if two texts say the same. `check` brings both into the fixed form first."""
    answers = [q.answer, *(answer for answer, _ in q.wrong)]
    one = rng.choice(answers)
    other = one if rng.random() < 0.5 else rng.choice([a for a in answers if a != one])
    fields = {"check": f"{one} / {other}", "verdict": "same" if one == other else "different"}
    return _made("match", q, {"answer": _reworded(rng, one), "other": _reworded(rng, other)}, fields, "verdict")


def critique(rng: random.Random, q: Question) -> Example:
    """Peers are held against the own answer, right or wrong: there is no room for a derivation. Both are copied before the word."""
    own, proof = _given(rng, q, rng.random() < 0.85)
    peers = _peers(rng, q, 2, 6)
    given = {f"answer{PEERS[i]}": _said(peer) for i, peer in enumerate(peers)}
    fields = {
        f"critique{PEERS[i]}": f"so {own}, answered {answer}{AGREES if answer == own else ''}"
        for i, (answer, _) in enumerate(peers)
    }
    return _made("critique", q, {"answer": own, "proof": proof, **given, **_sources(q)}, fields, *fields)


def synthesize(rng: random.Random, q: Question) -> Example:
    given = {f"answer{PEERS[i]}": _said(peer) for i, peer in enumerate(_peers(rng, q, 2, 7))}
    return _made("synthesize", q, given, _answer(q), "answer")


def _review(rng: random.Random, q: Question, right: bool, answer: str) -> str:
    roll = rng.random()
    claimed = rng.choice(q.wrong)[0] if right else q.answer
    if roll < 0.25:
        return "agrees"
    if roll < 0.5:
        return f"so {claimed}, answered {answer}"
    if roll < 0.65:
        return _check(q, answer)
    return _objection(rng, q, right, answer)


def converge(rng: random.Random, q: Question) -> Example:
    right = rng.random() < 0.5
    answer, proof = _given(rng, q, right)
    count = rng.choice([2, 2, 2, 3, 3, 4, 5])
    reviews = {f"review{PEERS[i]}": _review(rng, q, right, answer) for i in range(count)}
    return _made("converge", q, {"answer": answer, "proof": proof, **reviews}, _answer(q), "answer")


def cite(rng: random.Random, q: Question) -> Example:
    return _made("cite", q, _sources(q), _answer(q), "quote", "source", "answer")


MAKERS: dict[str, Callable[[random.Random, Question], Example]] = {
    "propose": propose,
    "verify": verify,
    "adjudicate": adjudicate,
    "revise": revise,
    "score": score,
    "match": match,
    "critique": critique,
    "synthesize": synthesize,
    "converge": converge,
    "cite": cite,
}


def example(rng: random.Random, split: str, task: str, family: str) -> Example:
    return MAKERS[task](rng, question(rng, split, family, task == "cite"))


# --------------------------------------------------------------------------------------------------------------
# Held-out questions for demos, tests and benchmarks


def _row(q: Question) -> dict[str, object]:
    wrong_answer, wrong_proof = q.wrong[0]
    cited = {"sources": list(q.sources), "source": q.source, "quote": q.quote} if q.sources else {}
    return {
        "family": q.family, "kind": q.kind, "question": q.text, "expected": q.answer, "proof": q.proof,
        "wrongAnswer": wrong_answer, "wrongProof": wrong_proof, **cited,
    }  # fmt: skip


def held_out(per_family: int, seed: int) -> list[dict[str, object]]:
    """Questions of every family, those of `cite` last."""
    rng, rows, seen = random.Random(seed), [], set()
    for family, cited in [*((name, False) for name in FAMILIES), *((name, True) for name in CITED)]:
        count = 0
        while count < per_family:
            q = question(rng, "test", family, cited)
            if q.text not in seen:
                seen.add(q.text)
                rows.append(_row(q))
                count += 1
    return rows


def evaluation(each: int, split: str, seed: int) -> list[dict[str, object]]:
    """`each` examples of every task and family, as evaluate.ts reads them."""
    rng, rows = random.Random(seed), []
    for task, family in CELLS:
        for _ in range(each):
            one = example(rng, split, task, family)
            rows.append(
                {"task": task, "family": family, "kind": one.question.kind, "prompt": one.prompt,
                 "fields": one.fields, "judged": one.judged}
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Write held-out.json or evaluation examples, or print a few examples.")
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--examples", type=int, help="this many of every task and family, to --out")
    parser.add_argument("--split", choices=("train", "validation", "test"), default="test")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--per-family", type=int, default=40)
    parser.add_argument("--show", type=int, default=0, help="print this many of every task and family")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.held_out:
        rows = held_out(args.per_family, args.seed)
        args.held_out.write_text(json.dumps(rows, indent=1) + "\n")
    if args.examples:
        args.out.write_text(json.dumps(evaluation(args.examples, args.split, args.seed)))
    rng = random.Random(args.seed)
    for task, family in CELLS * args.show:
        made = example(rng, "train", task, family)
        print(made.prompt, made.completion, sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
