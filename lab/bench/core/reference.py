"""Decisions per second of the discrete reference, in Python.

A scenario in the format of test/vectors/mbft-reference.json ("mock" agents) comes on stdin. Without --published a plain port
of the vectors' `meta.semantics` runs: no pydantic, no asyncio, so it is faster than the published engine and a ratio against
it is on the safe side. With --published FOLDER the engine in a checkout of the published repository runs as it stands.
"""
import argparse
import json
import statistics
import sys
import time


def run_port(agents, theta, sigma, max_rounds):
    """One decision: value or None, rounds, final reputations."""
    rho = [agent["rho0"] for agent in agents]
    forced = None
    for round_index in range(max_rounds):
        if forced is None:
            leader = max(range(len(agents)), key=lambda i: agents[i]["tau"] * rho[i])
        else:
            leader = forced
        answer = agents[leader]["answer"]
        aggregate = agents[leader]["tau"] * rho[leader]
        vetoed = False
        votes = []
        for voter, agent in enumerate(agents):
            if voter == leader:
                continue
            accepted = agent["accept"] if agent["accept"] is not None else [agent["answer"]]
            weight = agent["tau"] if agent["byzantine"] or answer in accepted else -agent["tau"]
            votes.append((voter, weight))
            aggregate += weight * rho[voter]
            vetoed = vetoed or (weight < 0 and rho[voter] >= 1.0)
        if aggregate >= theta and not vetoed:
            return answer, round_index + 1, rho
        rho[leader] *= sigma
        rejections = [(weight * rho[voter], voter) for voter, weight in votes if weight < 0]
        forced = min(rejections, key=lambda one: one[0])[1] if rejections else None
    return None, max_rounds, rho


def port_of(scenario):
    agents = scenario["agents"]
    theta, sigma, rounds = scenario["theta"], scenario["sigma"], scenario["maxRounds"]
    return lambda: run_port(agents, theta, sigma, rounds)[:2]


def published_of(folder, scenario):
    sys.path.insert(0, folder)
    import asyncio

    from src.agents.metacognitive import MockAgent
    from src.core.protocol import MBFTEngine

    agents = [
        MockAgent(one["id"], one["answer"], one["tau"], one["byzantine"], None if one["accept"] is None else set(one["accept"]))
        for one in scenario["agents"]
    ]
    theta, sigma, rounds = scenario["theta"], scenario["sigma"], scenario["maxRounds"]
    loop = asyncio.new_event_loop()

    def once():
        engine = MBFTEngine(agents, threshold=theta, max_rounds=rounds, slash_factor=sigma)
        result = loop.run_until_complete(engine.run("task"))
        return result.committed_solution, len(engine.history)

    return once


def rate(once, seconds):
    """Decisions per second of CPU time: the median of five slices, after one to warm up."""
    rates = []
    for _ in range(6):
        count, started = 0, time.process_time()
        while (elapsed := time.process_time() - started) < seconds / 6:
            once()
            count += 1
        rates.append(count / elapsed)
    return statistics.median(rates[1:])


def check(path):
    """How many mock cases of a vector file the port gets right, of how many."""
    with open(path, encoding="utf8") as file:
        vectors = json.load(file)
    cases = [one for one in vectors["scenarios"] + vectors["edges"] if "answer" in one["agents"][0]]
    right = 0
    for case in cases:
        value, rounds, rho = run_port(case["agents"], case["theta"], case["sigma"], case["maxRounds"])
        expected = case["expect"]
        reputations = [expected["finalReputation"][agent["id"]] for agent in case["agents"]]
        right += (value, rounds, rho) == (expected["value"], expected["rounds"], reputations)
    return right, len(cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--published")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--check")
    options = parser.parse_args()
    if options.check is not None:
        right, cases = check(options.check)
        print(json.dumps({"right": right, "cases": cases}))
        return
    scenario = json.load(sys.stdin)
    once = port_of(scenario) if options.published is None else published_of(options.published, scenario)
    value, rounds = once()
    print(
        json.dumps(
            {
                "engine": "port" if options.published is None else "published",
                "python": sys.version.split()[0],
                "value": value,
                "rounds": rounds,
                "decisionsPerSecond": rate(once, options.seconds),
            }
        )
    )


main()
