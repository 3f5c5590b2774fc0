"""The key-value cache benchmark of MLPerf Storage, from its documented kinds of users, by simulation."""

import random

import pytest
import yaml

from ingest.configuration import shipped_folder

#: Least and most tokens of context, tokens generated, and pause in seconds, of the three kinds of users.
KINDS = (((512, 4096), (50, 200), (0.1, 0.5)), ((4096, 25000), (100, 500), (0.2, 1.0)), ((4096, 16384), (200, 800), (0.3, 1.5)))
CASES = {case["id"]: case for case in yaml.safe_load((shipped_folder() / "published" / "kv-tier.yaml").read_text())["cases"]}


def drawn(seed, users):
    """Context, generation and pause of each user, and whether the user is of the first class, as the benchmark draws them."""
    draw = random.Random(seed)
    for _ in range(users):
        contexts, generations, pauses = draw.choice(KINDS)
        first = draw.random() < 0.15
        yield draw.randint(*contexts), draw.randint(*generations), draw.uniform(*pauses), first


def simulated(users, requests=50_000):
    """Tokens written and read by a mean request of these users."""
    draw = random.Random(1)
    written = read = 0
    for context, generation, _ in draw.choices(users, [1 / pause for *_, pause in users], k=requests):
        tokens, made = draw.randint(context // 4, context), draw.randint(generation // 4, generation)
        written += tokens
        if tokens < 10_000:
            read += tokens * (1 + -(-made // 32))
    return written / requests, read / requests


@pytest.mark.parametrize(("users", "case", "mean", "firsts"), [
    (200, "option 1, 200 users, FarmGPU", 9330, 25),
    (100, "option 2, 100 users, Samsung", 8383, 14),
    (70, "option 3, 70 users of 70B, Samsung", 8276, 11),
])  # fmt: skip
def test_volumes_follow_from_the_users_of_seed_42(users, case, mean, firsts):
    """The logs print the mean context and the number of the first class; the run reads and writes what a simulation does."""
    population = [*drawn(42, users)]
    assert round(sum(user[0] for user in population) / users) == mean
    first = [user[:3] for user in population if user[3]]
    assert len(first) == firsts
    reads, writes = CASES[f"v3.0, {case}: reads"], CASES[f"v3.0, {case}: writes"]
    columns = zip(*(reads["given"][f"benchmark_user_{name}"] for name in ("contexts", "generations", "pauses")), strict=True)
    assert [*columns] == [(context, generation, round(pause, 3)) for context, generation, pause in first]
    written, read = simulated(first)
    for side, tokens in ((reads, read), (writes, written)):
        given = side["given"]
        volume = given["benchmark_requests"] * tokens * given["kv_cache_bytes_per_token"] / 2**30
        assert volume == pytest.approx(float(side["published"].removesuffix(" GiB")), rel=0.06)


def test_the_mean_request_of_all_kinds():
    """32 ranks, each with its own seed: contexts over the kinds themselves, not over the users of one seed."""
    written, read = simulated([user[:3] for user in drawn(1, 20_000)])
    given = [CASES[f"v3.0, option 1, 6,400 users, HPE: {side}"]["given"] for side in ("writes", "reads")]
    assert given[0]["benchmark_written_tokens"] == pytest.approx(written, rel=0.02)
    assert given[1]["benchmark_read_tokens"] == pytest.approx(read, rel=0.02)
