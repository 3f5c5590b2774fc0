"""One meaning of a sample: by catalog id and by its own config, a model answers per image, window, utterance or token."""

import pytest
from conftest import CATALOG, first, refused, table
from test_counts import PUBLISHED
from test_hostile_configs import CONFIGS

import ingest
from ingest.architecture import describe
from ingest.architecture.catalog_entries import model_of
from ingest.architecture.registry import from_config
from ingest.catalog.records import Model
from ingest.configuration import shipped_folder
from ingest.errors import IngestError, UsageError

#: Models that see or hear, and a structure of the same model.
SEEN = {
    "clip-vit-b16": "clip-vit-base-patch16",
    "clip-vit-b32": "clip-vit-base-patch32",
    "clip-vit-bigg14": "clip-vit-bigg-14-laion2b",
    "clip-vit-h14": "clip-vit-h-14-laion2b",
    "clip-vit-l14": "clip-vit-large-patch14",
    "siglip-so400m": "siglip-so400m-patch14-384",
    "vit-b16": "vit-base-patch16-224",
    "vit-l16": "vit-large-patch16-224",
    "whisper-large": "whisper-large-v2",
}
TEXTS = [name for name in CATALOG.ids(Model.kind) if name in CATALOG.ids("architectures")]
SAME = 1.2


def within(entry, flops):
    """Whether FLOPs per sample are those of a catalog entry; where it states a range, within that."""
    stored = entry.flops_per_sample
    return (stored.low or stored.value) / SAME <= flops <= (stored.high or stored.value) * SAME


@pytest.mark.parametrize("name", SEEN)
def test_a_model_that_sees_or_hears_has_the_sample_of_its_entry(name):
    entry, made = CATALOG.get(Model, name), model_of(SEEN[name], CATALOG)
    assert (made.sample_unit, made.family, made.tokens_per_sample) == (entry.sample_unit, entry.family, None)
    assert within(entry, made.flops_per_sample.value)
    asked = {"gpu": "h100", "nodes": 1, "basis": "peak", "precision": "bf16", "sample_bytes": 100_000}
    own, stored = (ingest.bw(model=model, **asked).results["ingest_bandwidth_per_job"].value for model in (SEEN[name], name))
    assert 1 / SAME < own / stored < SAME


def test_every_id_that_has_a_config_is_in_the_comparison():
    """A name of a structure that is also an alias of an entry has the sample of the entry."""
    aliases = CATALOG.aliases["models"]
    for name in (name for name in CATALOG.releases.rows if name.lower() in aliases):
        assert model_of(name, CATALOG).id == aliases[name.lower()]
    assert len(TEXTS) >= 20


def _sized(model, length):
    """Hours of a run, memory of a GPU and bytes of a checkpoint, as measured and published where they are."""
    asked = {"gpu": "h100", "gpus": 64}
    return (
        ingest.train(model, tokens="1T", sequence_length=length, **asked).results["gpu_hours"].value,
        ingest.memory(model, sequence_length=length, **asked).results["total_bytes_per_gpu"].value,
        ingest.checkpoint(model, **asked).results["checkpoint_bytes"].value,
    )


RELEASED = {one["name"]: one["config"] for one in PUBLISHED if one["name"] in CATALOG.releases.rows or one["name"] in TEXTS}


@pytest.mark.parametrize("name", [*first(8, TEXTS), *first(8, RELEASED)])
def test_hours_memory_and_checkpoint_are_the_same_by_id_and_by_config(name, config_file):
    place = config_file(RELEASED[name]) if name in RELEASED else shipped_folder() / "architectures" / f"{name}.yaml"
    rates = [ingest.bw(model=one, gpu="b200", bytes_per_token=4) for one in (name, str(place))]
    (said, own), (unit, stored) = ((one.model.sample, one.results["ingest_bandwidth_per_job"].value) for one in rates)
    assert (said, own) == (unit, pytest.approx(stored, rel=SAME - 1))
    alike = CATALOG.canonical("models", CATALOG.model_id(name)) in TEXTS
    assert any("its published rates" in line for line in rates[1].warnings) == alike
    for length in (2048, 8192):
        try:
            stored = _sized(name, length)
        except (UsageError, IngestError) as refused:
            with pytest.raises(type(refused)):
                _sized(str(place), length)
        else:
            assert _sized(str(place), length) == pytest.approx(stored, rel=0.05)


def test_an_image_is_no_token_in_any_family(config_file):
    """Whatever a config describes, the bytes of an image are taken for an image or refused."""
    seen = set()
    for config in CONFIGS:
        kind = config.get("model_type") or config.get("_class_name")
        if kind in seen:
            continue
        seen.add(kind)
        try:
            made = ingest.bw(model=config_file(config), gpu="h100", nodes=1, sample_bytes=114_660, flops_per_sample="1 TFLOP")
        except (UsageError, IngestError) as refused:
            answered = next((word for word in ("one token", "one utterance") if word in str(refused)), str(refused))
        else:
            answered = made.model.tokens_per_sample or made.model.sample_unit
        words = ["sample"] if kind == "canine" else []  # of characters, of which it has no table
        assert answered in ("one token", "one utterance", "image", "clip", "window", "utterance", *words), kind
    assert len(seen) > 200


@pytest.mark.parametrize(("kind", "sample"), table("architecture/cases.yaml")["a_sample_is_said_at_the_size_of_the_class"])
def test_a_sample_is_said_at_the_size_of_the_class(kind, sample, config_file):
    whisper = {"d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "vocab_size": 51865}
    sizes = {"whisper": whisper, "clip": {}}.get(kind, {"hidden_size": 768, "num_hidden_layers": 12})
    assert model_of(config_file(sizes, model_type=kind), CATALOG).sample == sample


def test_an_utterance_needs_its_frames():
    asked = {"model": "wav2vec2-large-xlsr-53", "gpu": "h100", "sample_bytes": 17_342}
    with pytest.raises(IngestError, match=r"one utterance, of any length: .*; set --sequence-length"):
        ingest.bw(**asked)
    one, two = (ingest.bw(**asked, sequence_length=frames).given["flops_per_sample"].value for frames in (50, 100))
    assert 2 < two / one < 2.1


@pytest.mark.parametrize(("options", "words"), table("architecture/refused.yaml")["another_sample_is_refused"])
def test_another_sample_is_refused(options, words):
    with refused(words, error=UsageError):
        ingest.bw(gpu="h100", **options)


def test_a_run_over_samples_is_one_over_images_or_refused():
    run = {"gpu": "h100", "gpus": 256, "samples": "4096M"}
    one, many = (ingest.train(model=model, **run).results["gpu_hours"].value for model in ("vit-l16", "vit-large-patch16-224"))
    assert many == pytest.approx(one, rel=0.05)
    for model in ("qwen3-0.6b", "llama2-7b"):
        with pytest.raises(UsageError, match=f"one sample of {model} is one token, expected --tokens N"):
            ingest.train(model=model, **run)


def test_an_image_smaller_than_its_patch_is_refused(config_file):
    small = config_file(
        {"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 8}
    )
    with pytest.raises(IngestError, match="smaller than one patch"):
        model_of(small, CATALOG)


def test_both_towers_of_a_pair_are_computed():
    """FLOPs per pair of a small CLIP: the patches of the image and the tokens of the text, each through its own tower."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text, vision = {**sizes, "max_position_embeddings": 8, "vocab_size": 100}, {**sizes, "image_size": 32, "patch_size": 8}
    made, said, seen = (
        from_config("pair", "pair.json", {"projection_dim": 16, **config})
        for config in (
            {"model_type": "clip", "text_config": text, "vision_config": vision},
            {"model_type": "clip_text_model", **text, "architectures": ["CLIPTextModelWithProjection"]},
            {"model_type": "clip_vision_model", **vision, "architectures": ["CLIPVisionModelWithProjection"]},
        )
    )
    whole = made.forward_flops_per_token(8, causal=False) * 8
    assert whole == pytest.approx(
        said.forward_flops_per_token(8, causal=False) * 8 + seen.forward_flops_per_token(17, causal=False) * 17
    )
    assert describe("clip-vit-large-patch14").parameters == 427_616_513
