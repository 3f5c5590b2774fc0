"""Cases of corpora: ledgers, vocabularies, and files of every format."""

import gzip
import json
import random

from fuzz.mutations import encoded, mutated_bytes, mutated_json, mutated_text, mutated_tree
from fuzz.seeds import TEXT, Seeds
from fuzz.site_inputs import form

COUNT = ["measure", "corpus", "--quiet", "--threads", "1", "--tokenizer"]


def ledger(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Ledgers from which a measurement is resumed."""
    lines = seeds.ledgers[0].splitlines()
    if chance.random() < 0.6:
        place = chance.randrange(len(lines))
        lines[place] = mutated_json(chance, lines[place]).decode("utf-8", "replace")
        content = ("\n".join(lines) + "\n").encode()
    else:
        content = mutated_bytes(chance, seeds.ledgers[0].encode())
    # The text that the ledger has counted, under the name that it has there.
    files = {"corpus/a.txt": TEXT, "tokenizer.json": seeds.tokenizers["tokenizer.json"], "t.ledger": content}
    return [*COUNT, "tokenizer.json", "--exact", "--resume", "t.ledger", *form(chance)], files


def tokenizer(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Vocabularies in each of their formats."""
    name = chance.choice(sorted(seeds.tokenizers))
    content = seeds.tokenizers[name]
    if name.endswith(".json"):
        content = _mutated_tokenizer(chance, content.decode())
    elif name.endswith(".tiktoken") and chance.random() < 0.6:
        content = encoded(chance, mutated_text(chance, content.decode()))
    else:
        content = mutated_bytes(chance, content)
    return [*COUNT, name, "--exact", *form(chance)], {name: content, "corpus/a.txt": b"a line of text\n" * 3}


def _mutated_tokenizer(chance: random.Random, text: str) -> bytes:
    """Mostly the settings, which a draw over all words of the vocabulary would hardly meet."""
    if chance.random() < 0.3:
        return mutated_json(chance, text)
    held = json.loads(text)
    vocabulary, merges = held["model"].pop("vocab", {}), held["model"].pop("merges", [])
    mutated = mutated_tree(chance, held)
    if isinstance(mutated, dict) and isinstance(mutated.get("model"), dict):
        mutated["model"] = {**mutated["model"], "vocab": vocabulary, "merges": merges}
    return json.dumps(mutated).encode()


def corpus(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Files of every format beside a good one, counted wholly, in a sample, or by their samples."""
    name = chance.choice(sorted(seeds.corpora))
    content = seeds.corpora[name]
    other = seeds.corpora[chance.choice(sorted(seeds.corpora))]
    if name.endswith((".gz", ".tgz")) and chance.random() < 0.5:
        content = gzip.compress(mutated_bytes(chance, gzip.decompress(content), other), mtime=0)
    elif name.endswith((".jsonl", ".json", ".csv", ".tsv", ".txt")) and chance.random() < 0.6:
        content = encoded(chance, mutated_text(chance, content.decode()))
    else:
        content = mutated_bytes(chance, content, other)
    if chance.random() < 0.05:
        name = chance.choice(sorted(seeds.corpora))
    files = {f"corpus/{name}": content, "corpus/ok.txt": b"a good line\n" * 3}
    if chance.random() < 0.25:
        words = ["measure", "corpus", "--quiet", "--samples"]
    else:
        files["tokenizer.json"] = seeds.tokenizers["tokenizer.json"]
        words = [*COUNT, "tokenizer.json", *chance.choice([["--exact"], ["--exact"], []])]
        if chance.random() < 0.3:
            words += ["--text-field", chance.choice(["text", "id", "parts", "none", "kind", "x", "meta.a"])]
        words += ["--strict"] if chance.random() < 0.1 else []
    return [*words, *form(chance)], files
