"""Structures by name: the table is exact, and names are read as people and machines write them."""

import random
import re
import socket

import pytest
from conftest import CATALOG, table

import ingest
from ingest.architecture import describe
from ingest.architecture.registry import from_config
from ingest.catalog.releases import MOST_LETTERS, releases_in, spellings, stored_as, words
from ingest.catalog.store import Catalog
from ingest.errors import CatalogError, IngestError, UsageError
from ingest.site.site_file import new_site

ROWS = CATALOG.releases.rows
#: How parameters were checked: counted on the class without storage, against the count of the release, against that of a preset
#: of another library, or read from the release's own file alone.
CHECKS = {"class", "published", "preset", "file"}


def test_a_release_whose_cache_ends_at_a_window_states_the_window():
    """A class may have a window by default that its later releases, which state `null`, do not have: Mistral after v0.1."""
    capped = [row for row in ROWS.values() if row.model_type and describe(row.id, CATALOG).cache_window]
    assert len(capped) > 3
    assert [
        row.id for row in capped if "window" not in row.config and row.model_type not in ("phimoe", "recurrent_gemma")
    ] == []


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.model_type], ids=lambda row: row.id)
def test_every_row_has_the_parameters_that_it_states(row):
    made = from_config(row.id, row.path, row.keys())
    assert made.parameters == row.parameters
    assert made.layers or not made.vocabulary
    assert set() < set(row.check.split()) <= CHECKS
    assert row.source in CATALOG.sources
    assert row.where
    # A recalled row stands only where a published count agrees with it.
    assert row.source != "recalled" or "published" in row.check or "preset" in row.check


def test_a_structure_without_flops_says_why():
    """A diffusion model is described by its tensors alone: none answers with 0 FLOPs."""
    for row in ROWS.values():
        made = describe(row.id, CATALOG)
        assert any(one.multiply_adds for one in made.weights) or "multiply_adds_per_token" in made.missing, row.id
    assert "size of its images" in describe("qwen-image", CATALOG).missing["multiply_adds_per_token"]


def test_rows_without_keys_stand_for_a_file():
    alone = {row.id for row in ROWS.values() if not row.model_type}
    assert set() < alone <= set(CATALOG.ids("architectures"))
    assert len(ROWS) >= 400
    assert sum(len(row.names) for row in ROWS.values()) >= 900


def test_every_name_leads_to_its_row():
    for row in ROWS.values():
        for name in row.names:
            assert CATALOG.releases.named(name, structure=True) == row.id, name


@pytest.mark.parametrize(("name", "sizes"), table("architecture/listed_names.yaml").items())
def test_names_of_another_list_have_the_sizes_that_it_states(name, sizes):
    made = describe(name, CATALOG)
    assert [made.hidden, made.layers, made.vocabulary] == sizes


FORMS = [
    str.upper,
    lambda name: name.replace("-", " "),
    lambda name: name.replace("-", "_"),
    lambda name: f"hf://Xenova/{name}",
    lambda name: f"https://huggingface.co/mlx-community/{name}",
    lambda name: f"{name}-AWQ",
    lambda name: f"{name}-GPTQ-Int4",
    lambda name: f"{name}-FP8-dynamic",
    lambda name: f"unsloth/{name}-bnb-4bit",
    lambda name: f"{name}-q4_K_M",
    lambda name: f"{name}-GGUF",
    lambda name: f"{name}.Q4_K_M.gguf",
    lambda name: f"{name}-q4f16_1-MLC",
    lambda name: f"models--TheBloke--{name}",
    lambda name: f" {name} ",
]


@pytest.mark.parametrize("form", FORMS)
def test_drawn_spellings_are_the_same_name(form):
    drawn = random.Random(42).sample([row for row in ROWS.values() if not row.id.endswith("-awq")], 60)
    for row in drawn:
        name = (row.hub or row.id).rpartition("/")[2]
        written = form(name)
        if words(written) in OWN and words(written) != words(name):
            continue  # A quantized release with a structure of its own.
        assert CATALOG.releases.named(written, structure=True) == row.id, written


OWN = {words(name.rpartition("/")[2]) for row in ROWS.values() for name in row.names}
NAMED = [(row, row.hub.rpartition("/")[2]) for row in ROWS.values() if row.hub]


def named(written):
    try:
        return CATALOG.releases.named(written, structure=True)
    except UsageError as several:
        return str(several)


def of_itself(written):
    """The release that a name stands for, not one on which it says it is based."""
    return found if (found := named(written)) in ROWS and written not in CATALOG.releases.based else None


@pytest.mark.parametrize(("written", "found"), table("architecture/based_names.yaml").items())
def test_a_name_says_on_which_release_it_is_based(written, found):
    known = named(written)
    assert known == found or f"may be {', '.join(found or ['-'])}: name one" in known
    if isinstance(found, str):
        told = f"is read as {found}, on which it says it is based"
        assert [told in note for note in describe(written, CATALOG).notes].count(True) == 1
        assert [told in note for note in ingest.bw(model=written, gpu="h100", nodes=1).warnings].count(True) == 1


def test_a_family_and_a_size_under_another_owner_is_another_release():
    alike = [
        name
        for _, name in NAMED
        if re.fullmatch(r"((bert|roberta|t5|albert|hubert)-?(base|large|small|cased|uncased)-?)+", name)
    ]
    assert len(alike) >= 5
    assert named("someone/Kimi-K3-DSpark") is None
    for name in alike:
        assert named(f"someone/{name}") is None, name
        assert named(name) == named(f"Xenova/{name}") == next(row.id for row, one in NAMED if one == name)


def test_another_owners_name_with_its_maker_is_the_release_only_if_converted():
    for row, name in random.Random(7).sample(NAMED, 80):
        maker = row.hub.partition("/")[0].lower()
        if maker not in ("google", "microsoft", "mistralai", "qwen", "nvidia") or stored_as(name):
            continue
        assert of_itself(f"someone/{maker}-{name}") is None, name
        assert "name one" in named(f"{name}-"), name
        assert named(f"{maker}-{name}") == named(f"bartowski/{maker}_{name}-GGUF") == row.id


def test_base_releases_are_known_where_they_are_named():
    plain = [(row, name) for row, name in NAMED if [*spellings(name)] == [words(name)] and words(f"{name} base") not in OWN]
    assert len(plain) > 100
    for row, name in plain:
        assert of_itself(f"{row.hub}-Base") is None, name


@pytest.mark.parametrize(("written", "found"), table("architecture/written_names.yaml").items())
def test_forms_of_ollama_ngc_and_the_hub(written, found):
    assert CATALOG.model_id(written) in (found, written)
    assert describe(written, CATALOG).id == found


LARGER = ("plus", "pro", "max", "ultra", "large", "xl", "omni", "vision", "coder-next", "flash", "embedding", "eagle3", "draft")


def test_a_larger_model_or_another_is_never_answered_by_the_one_it_is_named_after():
    for row, name in random.Random(9).sample(NAMED, 40):
        others = [f"{row.hub}-{word}" for word in LARGER] + [f"{name}+"]
        others += [re.sub(r"(?<![\w.])\d+(\.\d+)?(?=[bB](?!\w))", lambda size: f"{10 * float(size[0]):g}", name)]
        for other in others:
            assert words(other.rpartition("/")[2]) in OWN or named(other) != row.id, other


def test_a_text_model_beside_an_encoder_counts_both():
    phi = describe("microsoft/Phi-3.5-vision-instruct", CATALOG)
    assert (phi.layers, phi.hidden, phi.vocabulary) == (32, 3072, 32064)
    # As safetensors lists: 3.82 billion of text, ViT-L/14 of 336 pixels, two products and two separators.
    assert phi.parameters == 4_146_621_440
    assert sum(row.parameters for row in phi.weights if row.kind == "vision") == 4_146_621_440 - 3_821_079_552
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 8}
    with pytest.raises(IngestError, match="beside"):
        from_config("x", "x.yaml", {"model_type": "composite", "text_config": {"model_type": "llama", **sizes}})


@pytest.mark.parametrize("written", ["llama3.1", "qwen3", "gemma", "mistral-small", "olmo"])
def test_an_ambiguous_name_is_never_guessed(written):
    with pytest.raises(UsageError, match=r"may be .+, .+: name one$"):
        describe(written, CATALOG)


def test_an_unknown_name_gets_the_nearest_and_the_hub():
    with pytest.raises(UsageError, match=r"nearest qwen3-8b, .*; or hf://…"):
        ingest.bw(model="nosuch/qwen9-8b", gpu="h100", nodes=1)
    for strange in ("zzz", "a/b/c/d", "x" * 240, "-", "../../etc/passwd", "8b", "7"):
        with pytest.raises(IngestError):
            describe(strange, CATALOG)
    assert CATALOG.releases.named("x" * (MOST_LETTERS + 1)) is None
    assert [*spellings("---")] == [""]


def test_names_that_only_begin_alike_stay_apart():
    for one, other in (("mistral-7b-v0.3", "mistral-7b"), ("qwen2-7b", "qwen2-vl-7b"), ("llama-3.2-3b", "open-llama-3b")):
        assert describe(one, CATALOG).parameters != describe(other, CATALOG).parameters


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", ["qwen3-8b", "Qwen/Qwen3-8B", "qwen3:8b"])
@pytest.mark.usefixtures("no_network")
def test_every_question_takes_a_name(name):
    parameters = ROWS["qwen3-8b"].parameters
    assert ingest.model(name).results["parameters"].value == parameters
    assert ": efficiency" in ingest.bw(model=name, gpu="h100", nodes=2).title
    for answer in (
        ingest.checkpoint(name, gpus=64),
        ingest.memory(name, gpu="h100"),
        ingest.train(name, gpu="h100", nodes=8, tokens="1e12"),
        ingest.offload(name, gpu="h100"),
        ingest.feed(model=name, gpu="h100"),
    ):
        assert answer.results
    assert "model: qwen3-8b" in new_site(nodes=4, gpu="h100", models=name)


@pytest.mark.parametrize(
    "name", ["whisper-large-v3", "stable-diffusion-xl", "flux.1-dev", "facebook/esm2_t33_650M_UR50D", "wan-14b"]
)
def test_a_model_with_rates_that_is_no_text_answers_by_its_samples(name):
    assert ingest.bw(model=name, gpu="h100", nodes=2).results
    assert ingest.train(name, gpu="h100", nodes=2, samples=1e8).results
    assert ingest.checkpoint(name, gpus=64).results


@pytest.mark.parametrize(("name", "lacking"), table("architecture/cases.yaml")["what_has_no_tokens_is_never_counted_in_tokens"])
def test_what_has_no_tokens_is_never_counted_in_tokens(name, lacking):
    assert ingest.memory(name, gpu="h100").results
    for ask in (ingest.bw, ingest.feed):
        with pytest.raises(IngestError, match=lacking):
            ask(model=name, gpu="h100")


def test_a_model_with_measured_rates_keeps_them():
    direct = ingest.bw(model="llama3-8b", gpu="h100", nodes=2).to_dict()
    named = ingest.bw(model="meta-llama/Llama-3.1-8B-Instruct", gpu="h100", nodes=2).to_dict()
    assert named["results"] == direct["results"]


def test_a_narrow_release_says_how_it_was_counted():
    notes = describe("Qwen/Qwen3-8B-AWQ", CATALOG).notes
    assert any("awq: weights are counted at 16 bits" in note for note in notes)
    assert describe("Qwen/Qwen3-8B", CATALOG).notes == ()
    own = {"openai/gpt-oss-20b": "MXFP4", "moonshotai/Kimi-K2-Thinking": "INT4", "deepseek-r1": "FP8", "qwen3-8b": ""}
    for name, form in own.items():
        said = [note for note in ingest.model(name).warnings if note.startswith("released in ")]
        assert [f"released in {form}:" in note for note in said] == [True] * bool(form), name
        assert not any(map("released in".__contains__, ingest.model(name, precision="bf16").warnings)), name
        assert bool(form) == ("released in" in "".join(ingest.checkpoint(name, layout="safetensors").warnings)), name


def test_without_the_hub_the_table_answers(monkeypatch):
    from ingest.sizing import resolve

    def refused(url):
        raise IngestError(f"{url}: cannot be listed")

    monkeypatch.setattr(resolve, "RemoteFiles", refused)
    made = resolve.model_structure("hf://Qwen/Qwen3-8B", CATALOG)
    assert made.parameters == ROWS["qwen3-8b"].parameters
    assert "table of releases" in made.notes[-1]
    with pytest.raises(IngestError, match="cannot be listed"):
        resolve.model_structure("hf://nosuch/none", CATALOG)


def test_a_table_of_your_own_is_nearer_and_checked(tmp_path):
    folder = tmp_path / "architectures"
    folder.mkdir()
    head = "id,hub,also,model_type,config,parameters,check,source,where\n"
    sizes = "hidden_size=64 intermediate_size=64 num_hidden_layers=2 num_attention_heads=4 vocab_size=100"
    (folder / "releases.csv").write_text(f"{head}ours-1b,ours/Ours-1B,,llama,{sizes},1,file,own,here\n")
    assert describe("ours 1b", Catalog(tmp_path)).layers == 2
    (folder / "releases.csv").write_text(f"{head}ours-1b,ours/Ours-1B,,llama,{sizes},many,file,own,here\n")
    with pytest.raises(CatalogError, match=re.escape("releases.csv:2: expected a row of")):
        describe("ours 1b", Catalog(tmp_path))
    (folder / "releases.csv").write_text("id,hub\n")
    with pytest.raises(CatalogError, match=re.escape("releases.csv:1: expected the columns")):
        releases_in([tmp_path])


def test_the_listing_is_grouped_and_filtered(run):
    found = ingest.catalog.list("models", "qwen3")
    assert {"qwen3-8b", "qwen3-vl-8b"} <= {row.id for row in found.releases}
    assert all("qwen3" in "".join(row.names).lower() + row.model_type for row in found.releases)
    with pytest.raises(UsageError, match="no models with 'nosuch' in a name"):
        ingest.catalog.list("models", "nosuch")
    every = ingest.catalog.list()
    assert len(every.releases) == sum(bool(row.model_type) for row in ROWS.values())
    counted = len({*ROWS, *CATALOG.ids("architectures")})
    assert re.search(rf"architectures +{counted:,} ", run("catalog", "list").out)
    for words_, shown, hidden in (
        (("architectures",), "structures by name\n", "vnet"),
        (("models",), "  older benchmarks  bart", "vnet"),
        ((), "  gpus ", "vnet"),
        (("models", "vnet"), "vnet", "older"),
        (("corpora",), "15T tokens, 44 TB  ", "vnet"),
        (("nodes",), " 8 h100-sxm ", "vnet"),
        (("gpus",), "\n  laptops  ", "rtx-3050-laptop"),
        (("gpus", "laptop"), "rtx-3050-laptop", "h100"),
        (("architectures", "llama"), "llama4", " more\n"),
    ):
        listed = run("catalog", "list", *words_).out
        assert shown in listed
        assert hidden not in listed
        assert max(map(len, listed.splitlines())) <= 80
