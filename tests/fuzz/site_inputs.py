"""Cases of what describes a job or a site: site files, models, plans, tests and results, and entries of catalogs."""

import contextlib
import hashlib
import random
from collections.abc import Mapping

import yaml
from fuzz.mutations import TEXTS, dumped, encoded, mutated_bytes, mutated_json, mutated_text, mutated_tree, number
from fuzz.seeds import Seeds

MANIFEST = "tests/tests.json"
REPORTS = ("rfp.xlsx", "rfp.xlsx", "rfp.docx", "rfp.html", "rfp.md", "rfp.csv", "rfp.json")
FORMS = ("table", "json", "json", "csv", "markdown")


def form(chance: random.Random) -> list[str]:
    if chance.random() < 0.1:
        return ["-o", chance.choice(["out.json", "out.csv", "out.md", "out.txt", "out.xlsx", "out"])]
    return ["--format", chance.choice(FORMS)]


def site(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """A site file under `plan`, `fit`, `accept` and `report`."""
    text = chance.choices(seeds.sites, [4, *[1] * (len(seeds.sites) - 1)])[0]
    if chance.random() < 0.7:
        text = dumped(chance, mutated_tree(chance, yaml.safe_load(text), seeds.site_keys))
    else:
        text = mutated_text(chance, text)
    files = {"site.yaml": encoded(chance, text)}
    sort = chance.random()
    if sort < 0.80:
        words = ["plan", "site.yaml", "--samples", chance.choice(["0", "0", "0", "100"]), *form(chance)]
        if chance.random() < 0.2:
            words += chance.choice([["--check"], ["--explain", chance.choice(seeds.requirements)], ["--years", number(chance)]])
        if chance.random() < 0.2:
            names = ["clusters", "main", "jobs", "count", "policies", *seeds.site_keys]
            words += ["--set", f"{'.'.join(chance.choices(names, k=chance.randint(1, 4)))}={number(chance)}"]
    elif sort < 0.88:
        words = ["fit", "site.yaml", "--storage", chance.choice(seeds.ids["storage"]), *form(chance)]
    elif sort < 0.94:
        words = ["accept", "site.yaml", "-o", "tests"]
    else:
        words = ["report", "site.yaml", "-o", chance.choice(REPORTS)]
    return words, files


def config(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Structures of models, as `config.json` or YAML."""
    text = chance.choice(seeds.configs)
    if text.startswith("{"):
        name, content = "config.json", mutated_json(chance, text, seeds.config_keys)
    else:
        structured = chance.random() < 0.7
        text = (
            dumped(chance, mutated_tree(chance, yaml.safe_load(text), seeds.config_keys))
            if structured
            else mutated_text(chance, text)
        )
        name, content = "model.yaml", encoded(chance, text)
    commands = "model {}; model {} --sequence-length 8192; checkpoint {} --gpus 64; memory {}; bw --model {} --gpu h100"
    words = chance.choice(commands.split(";")).format(name).split()
    return [*words, *form(chance)], {name: content}


def plan(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Plans under `fit`, `accept` and `diff`."""
    good = chance.choices(seeds.plans, [3, 1, 8])[0]
    files = {"plan.json": mutated_json(chance, good)}
    sort = chance.random()
    if sort < 0.4:
        words = ["fit", "plan.json", "--storage", chance.choice(seeds.ids["storage"]), *form(chance)]
    elif sort < 0.75:
        more = chance.choice([[], ["--scale", "1node"], ["--tool", "ior"], ["--tool", "dlio"]])
        words = ["accept", "plan.json", "-o", "tests", *more]
    else:
        files["other.json"] = good.encode()
        words = ["diff", *chance.choice([["plan.json", "other.json"], ["other.json", "plan.json"], ["plan.json", "plan.json"]])]
        words += form(chance)
    return words, files


def packed(tests: Mapping[str, bytes], summed: bool = True) -> dict[str, bytes]:
    """A folder of tests with its checksums, of which that of `tests.json` may be wrong."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in tests.items()}
    if not summed:
        sums[MANIFEST] = hashlib.sha256(b"").hexdigest()
    lines = (f"{found}  {name.partition('/')[2]}\n" for name, found in sums.items())
    return {**tests, "tests/SHA256SUMS": "".join(lines).encode()}


def verdict(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Lists of tests, and results of benchmark tools."""
    tests = dict(seeds.tests)
    results = {name: content for name, content in seeds.results.items() if chance.random() < 0.4}
    if chance.random() < 0.4:
        tests[MANIFEST] = mutated_json(chance, tests[MANIFEST].decode())
    else:
        name = chance.choice(sorted(seeds.results))
        content = seeds.results[name].decode()
        structured = name.endswith(".json")
        results[name] = mutated_json(chance, content) if structured else encoded(chance, mutated_text(chance, content))
    files = packed(tests, chance.random() < 0.95) | {f"results/{name}": content for name, content in results.items()}
    return ["verdict", "tests", "results", *form(chance)], files


def measured(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Results of `measure` and of other commands where options take a file."""
    files = {"m.json": mutated_json(chance, chance.choice(seeds.measures))}
    commands = """
        bw --model resnet50 --gpu h100 --sample-bytes m.json; bw --model llama3-8b --gpu h100 --bytes-per-token m.json;
        dataset --tokens 1T --bytes-per-token m.json; dataset --samples 1M --sample-bytes m.json;
        fit --read-bandwidth 1GB/s --storage m.json
    """
    words = chance.choice(commands.split(";")).split()
    return [*words, *form(chance)], files


#: kind of catalog -> a command that takes an entry of it
USES = {
    "gpus": "bw --model cosmoflow --gpu {}", "nodes": "bw --model cosmoflow --gpu h100 --node {}",
    "corpora": "dataset --corpus {}", "formats": "dataset --samples 1000 --sample-bytes 1MB --format {}",
    "architectures": "memory {}", "recipes": "memory llama3-8b --recipe {}", "optimizers": "memory llama3-8b --optimizer {}",
}  # fmt: skip


def catalog(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Entries of every kind, in a folder of the user's own."""
    kind = chance.choice(sorted(seeds.entries))
    name = chance.choice(sorted(seeds.entries[kind]))
    stem = name.rpartition(".")[0]
    files = {
        f"mine/{kind}/{other}" if kind else f"mine/{other}": content
        for other, content in seeds.entries[kind].items()
        if other.startswith(f"{stem}.")
    }
    place = f"mine/{kind}/{name}" if kind else f"mine/{name}"
    text = seeds.entries[kind][name].decode()
    if name.endswith(".yaml") and chance.random() < 0.7:
        with contextlib.suppress(yaml.YAMLError, RecursionError):
            text = dumped(chance, mutated_tree(chance, yaml.safe_load(text)))
    else:
        text = mutated_text(chance, text)
    files[place] = (
        encoded(chance, text) if chance.random() < 0.97 else mutated_bytes(chance, text.encode("utf-8", "surrogatepass"))
    )
    sort = chance.random()
    if sort < 0.05:
        return ["catalog", "check", "mine", *form(chance)], files
    if sort < 0.5:
        asked = "catalog show {}"
    elif kind == "storage":
        asked = chance.choice(["fit --read-bandwidth 1GB/s --storage {}", "catalog compare {}"])
    elif kind == "models":
        stem, asked = chance.choice([stem, place]), "bw --model {} --gpu h100"
    else:
        asked = USES.get(kind, "bw --model cosmoflow --gpu h100")
    words = [*(stem if word == "{}" else word for word in asked.split()), "--catalogs", "mine"]
    return words if "--format" in words else [*words, *form(chance)], files


def text_value(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Names and texts of a site that reach pages, workbooks and documents."""
    tree = yaml.safe_load(seeds.sites[0])
    new = chance.choice(TEXTS)
    where = chance.choice(["name", "cluster", "job", "dataset", "note"])
    if where == "name":
        tree["name"] = new
    elif where == "note":
        tree["notes"] = new
    else:
        held = tree[f"{where}s"]
        held[new] = held.pop(next(iter(held)))
        if where != "job":
            tree["jobs"]["universe"]["cluster" if where == "cluster" else "data"] = new
    report = ["report", "site.yaml", "-o", chance.choice(REPORTS)]
    words = chance.choice([["plan", "site.yaml", "--samples", "0", *form(chance)], report])
    return words, {"site.yaml": dumped(chance, tree).encode("utf-8", "surrogatepass")}
