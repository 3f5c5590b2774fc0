"""Folders of releases: what the headers say is what is stored, and a file that lies is refused."""

import json
import math

import pytest
from architecture.releases import llama, release, save, write

import ingest
from ingest.architecture import describe
from ingest.errors import IngestError, UsageError
from ingest.sizing import resolve

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
UNKNOWN = {**CONFIG, "model_type": "llama_of_2027"}
TENSORS = llama(CONFIG)
ELEMENTS = sum(math.prod(shape) for _, shape in TENSORS.values())


def kinds(made):
    found = {}
    for row in made.weights:
        found[row.kind] = found.get(row.kind, 0) + row.parameters
    return found


@pytest.mark.parametrize("config", [CONFIG, UNKNOWN], ids=["family", "no family"])
def test_headers_count_what_is_stored_and_multiply_as_the_family_does(tmp_path, config):
    shards = [dict(list(TENSORS.items())[:9]), dict(list(TENSORS.items())[9:])]
    made = describe(release(tmp_path / "mine", config, *shards))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    family = describe(tmp_path / "config.json")
    assert (made.id, made.basis, family.basis) == ("mine", "headers", "family")
    assert made.parameters == ELEMENTS == family.parameters
    assert made.stored_bytes == 2 * ELEMENTS
    assert made.flops_per_token(64) == family.flops_per_token(64)
    assert made.kv_cache_bytes_per_token() == family.kv_cache_bytes_per_token()
    assert (made.layers, made.heads, made.kv_heads, made.vocabulary) == (3, 4, 2, 100)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("config", [CONFIG, UNKNOWN], ids=["family", "no family"])
def test_a_tied_head_counts_once_and_is_multiplied(tmp_path, config, stored):
    tied = {**config, "tie_word_embeddings": True}
    made = describe(release(tmp_path, tied, llama({**CONFIG, "tie_word_embeddings": not stored})))
    assert made.parameters == ELEMENTS - 1600
    assert made.stored_bytes == 2 * (ELEMENTS if stored else ELEMENTS - 1600)
    assert made.solve("forward_matmul_flops_per_token") == 2 * (ELEMENTS - 1600 - 7 * 16)
    assert any("tied to" in note for note in made.notes) == stored


def moe(experts=4, layers=3):
    tensors = {name: item for name, item in TENSORS.items() if ".mlp." not in name}
    for layer in range(layers):
        at = f"model.layers.{layer}.mlp."
        tensors[f"{at}gate.weight"] = ("BF16", (experts, 16))
        tensors[f"{at}gate.e_score_correction_bias"] = ("F32", (experts,))
        for expert in range(experts):
            tensors |= {f"{at}experts.{expert}.{name}_proj.weight": ("BF16", (8, 16)) for name in ("gate", "up", "down")}
    return tensors


def test_experts_routers_buffers_and_prediction_layers_are_kinds_of_their_own(tmp_path):
    further = {name.replace("layers.2", "layers.3"): item for name, item in moe().items() if "layers.2." in name}
    config = {**UNKNOWN, "num_experts": 4, "num_experts_per_tok": 2}
    made = describe(release(tmp_path, config, moe() | further))
    found = kinds(made)
    assert (found["expert"], found["router"]) == (3 * 4 * 3 * 128, 3 * 4 * 16)
    assert "buffer" not in found
    predicted = sum(math.prod(shape) for name, (_, shape) in further.items() if "correction" not in name)
    assert found["mtp"] == predicted == made.parameters_trained - made.parameters
    assert made.parameters - made.parameters_active == found["expert"] // 2
    answer = ingest.model(tmp_path)
    assert answer.results["parameters_mtp"].value == predicted
    assert answer.results["weights_bytes"].value == made.stored_bytes


def test_experts_in_one_tensor_are_taken_apart(tmp_path):
    tensors = {name: item for name, item in TENSORS.items() if ".mlp." not in name}
    for layer in range(3):
        tensors[f"model.layers.{layer}.mlp.experts.gate_up_proj"] = ("BF16", (4, 16, 64))
        tensors[f"model.layers.{layer}.mlp.experts.down_proj"] = ("BF16", (4, 32, 16))
        tensors[f"model.layers.{layer}.mlp.router.weight"] = ("BF16", (4, 16))
    made = describe(release(tmp_path, {**UNKNOWN, "num_local_experts": 4, "num_experts_per_tok": 1}, tensors))
    assert kinds(made)["expert"] == 3 * 4 * (16 * 64 + 32 * 16)
    assert made.parameters - made.parameters_active == kinds(made)["expert"] * 3 // 4
    open_ended = describe(release(tmp_path, {**UNKNOWN, "num_local_experts": 4}, tensors))
    with pytest.raises(IngestError):
        open_ended.parameters_active  # noqa: B018  the property raises


def quantized(store, plain=TENSORS):
    """The tensors of a LLaMA with its layers' matrices stored in another way."""
    tensors = {}
    for name, (dtype, shape) in plain.items():
        if "_proj" in name:
            tensors |= {f"{name.removesuffix('.weight')}.{end}": item for end, item in store(*shape).items()}
        else:
            tensors[name] = (dtype, shape)
    return tensors


@pytest.mark.parametrize(
    ("method", "store"),
    [
        ({"quant_method": "fp8"}, lambda o, i: {"weight": ("F8_E4M3", (o, i)), "weight_scale_inv": ("F32", (1, 1))}),
        (
            {"quant_method": "gptq", "bits": 4},
            lambda o, i: {
                "qweight": ("I32", (i // 8, o)), "qzeros": ("I32", (1, o // 8)), "scales": ("F16", (1, o)),
                "g_idx": ("I32", (i,)),
            },
        ),
        (
            {"quant_method": "awq", "bits": 4},
            lambda o, i: {"qweight": ("I32", (i, o // 8)), "qzeros": ("I32", (1, o // 8)), "scales": ("F16", (1, o))},
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}},
            lambda o, i: {
                "weight_packed": ("I32", (o, i // 8)), "weight_scale": ("BF16", (o, 1)), "weight_shape": ("I64", (2,)),
            },
        ),
        (
            {"quant_method": "modelopt"},
            lambda o, i: {
                "weight": ("U8", (o, i // 2)), "weight_scale": ("F8_E4M3", (o, i // 16)), "weight_scale_2": ("F32", ()),
                "input_scale": ("F32", ()),
            },
        ),
        (
            {"quant_method": "bitsandbytes"},
            lambda o, i: {
                "weight": ("U8", (o * i // 2, 1)), "weight.absmax": ("U8", (o * i // 64,)), "weight.quant_map": ("F32", (16,)),
                "weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
            },
        ),
        ({"quant_method": "bitsandbytes"}, lambda o, i: {"weight": ("I8", (o, i)), "SCB": ("F32", (o,))}),
        ({"quant_method": "mxfp4"}, lambda o, i: {"weight": ("I8", (o, i // 2)), "scale": ("F8_E8M0", (o, max(i // 32, 1)))}),
    ],
    ids=["fp8", "gptq", "awq", "packed int4", "nvfp4", "nf4", "int8", "mxfp4"],
)  # fmt: skip
@pytest.mark.parametrize("config", [CONFIG, UNKNOWN], ids=["family", "no family"])
def test_a_packing_is_undone_and_its_bytes_are_those_of_the_files(tmp_path, config, method, store):
    wide = {**config, "hidden_size": 32, "intermediate_size": 64, "quantization_config": method}
    plain = llama(wide)
    folder = release(tmp_path, wide, quantized(store, plain))
    made = describe(folder)
    assert made.parameters == sum(math.prod(shape) for _, shape in plain.values())
    size = (folder / "model.safetensors").stat().st_size
    header = int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    assert made.stored_bytes == size - 8 - header
    assert made.flops_per_token(64) == describe(release(tmp_path / "plain", wide, plain)).flops_per_token(64)


def test_an_unknown_packing_leaves_the_parameters_open(tmp_path):
    tensors = quantized(lambda o, i: {"weight": ("U8", (o, i // 3))})
    answer = ingest.model(release(tmp_path, CONFIG, tensors))
    assert "packing" in answer.unknown["parameters"]
    assert answer.results["weights_bytes"].value == sum(
        math.prod(shape) * (1 if dtype == "U8" else 2) for dtype, shape in tensors.values()
    )


def test_rows_that_differ_from_the_family_are_named(tmp_path):
    tensors = {**TENSORS, **{f"model.layers.{layer}.self_attn.sinks": ("BF16", (4,)) for layer in range(3)}}
    made = describe(release(tmp_path, CONFIG, tensors))
    assert made.parameters == ELEMENTS + 12
    (note,) = made.notes
    assert "sinks (12)" in note
    assert "only in the family" not in note
    del tensors["model.layers.1.mlp.up_proj.weight"]
    (note,) = describe(release(tmp_path, CONFIG, tensors)).notes
    assert "only in the family" in note
    assert "mlp.up" in note


def test_a_file_that_was_cut_off_or_lies_is_refused(tmp_path):
    folder = release(tmp_path, CONFIG, TENSORS)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    name = "model.norm.weight"

    def changed(**entry):
        return {**header, name: {**header[name], **entry}}

    start, end = header[name]["data_offsets"]
    lies = [
        (header, data[:-1]), (header, data + b"\0"), (changed(shape=[17]), data), (changed(dtype="F7"), data),
        (changed(data_offsets=[start, end + 2], shape=[17]), data), (changed(shape=[-16]), data), (changed(shape="16"), data),
        ({**header, "other": header[name]}, data), ({key: header[key] for key in header if key != name}, data), ([], data),
    ]  # fmt: skip
    contents = [b"", whole[:7], whole[:100], b"\xff" * 100, (10**9).to_bytes(8, "little") + whole[8:]]
    for lying, content in lies:
        write(path, lying, content)
        contents.append(path.read_bytes())
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(IngestError, match=r"model.safetensors: found"):
            describe(folder)
    path.write_bytes(whole)
    assert describe(folder).parameters == ELEMENTS


def test_shards_are_complete_or_refused(tmp_path):
    first, second = dict(list(TENSORS.items())[:9]), dict(list(TENSORS.items())[9:])
    folder = release(tmp_path, CONFIG, first, second, index=False)
    assert describe(folder).parameters == ELEMENTS
    release(tmp_path, CONFIG, first, second)
    save(folder / "consolidated.safetensors", TENSORS)
    assert describe(folder).parameters == ELEMENTS
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(IngestError, match="1 of 2 files"):
        describe(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(IngestError, match="expected 2"):
        describe(folder)


def index(folder, config, total, names=TENSORS, file="model.safetensors", name="model.safetensors.index.json"):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    written = {"metadata": {"total_size": total}, "weight_map": dict.fromkeys(names, file)}
    (folder / name).write_text(json.dumps(written))
    return folder


def test_what_is_not_read_of_a_folder_is_said(tmp_path):
    with pytest.raises(IngestError, match="expected the folder of a model"):
        describe(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert describe(tmp_path).notes == ()
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK" + bytes(4 * ELEMENTS - 2))
    assert "are 4 B per parameter" in describe(tmp_path).notes[0]


def test_an_index_alone_gives_bytes_and_a_range_of_parameters(tmp_path):
    bytes_of = {"total": 2 * ELEMENTS, "file": "pytorch_model.bin", "name": "pytorch_model.bin.index.json"}
    answer = ingest.model(index(tmp_path / "torch", UNKNOWN, **bytes_of))
    assert answer.to_dict()["basis"] == "index"
    assert answer.results["parameters"].value == ELEMENTS
    assert answer.results["weights_bytes"].value == 2 * ELEMENTS
    assert "shapes" in answer.unknown["flops_per_token"]
    tied = ingest.model(index(tmp_path / "tied", {**UNKNOWN, "tie_word_embeddings": True}, 2 * ELEMENTS))
    assert (tied.results["parameters"].low, tied.results["parameters"].high) == (ELEMENTS - 1600, ELEMENTS)
    packed = ingest.model(index(tmp_path / "packed", {**UNKNOWN, "quantization_config": {"bits": 4}}, 1000))
    assert "parameters" in packed.unknown
    with pytest.raises(IngestError, match="llama_of_2027"):
        ingest.model(index(tmp_path / "none", UNKNOWN, 0))


def test_an_index_next_to_a_known_family_is_compared_with_it(tmp_path):
    assert describe(index(tmp_path / "equal", CONFIG, 2 * ELEMENTS)).notes == ()
    for said, tied, total in (
        ("twice", True, 2 * ELEMENTS),
        ("states", False, 2 * ELEMENTS + 2),
        ("no bytes in total_size", False, 0),
    ):
        made = describe(index(tmp_path / said, {**CONFIG, "tie_word_embeddings": tied}, total))
        assert (made.basis, said in made.notes[0]) == ("family", True)


def test_the_parts_of_a_pipeline_add_up(tmp_path):
    table = {"_class_name": "ToyPipeline", "transformer": ["diffusers", "Toy"], "text_encoder": ["transformers", "LlamaModel"],
             "scheduler": ["diffusers", "Euler"], "vae": ["diffusers", "Vae"], "safety_checker": [None, None]}  # fmt: skip
    (tmp_path / "model_index.json").write_text(json.dumps(table))
    release(tmp_path / "text_encoder", CONFIG, TENSORS)
    for part, shape in (("transformer", (24, 16)), ("vae", (8, 3, 3, 3))):
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_text('{"_class_name": "Toy"}')
        save(tmp_path / part / "diffusion_pytorch_model.safetensors", {"blocks.0.weight": ("F16", shape)})
    made = describe(tmp_path)
    assert (made.model_type, made.basis) == ("ToyPipeline", "headers")
    assert made.parameters == ELEMENTS + 24 * 16 + 8 * 27
    assert made.stored_bytes == 2 * made.parameters
    (tmp_path / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    made = describe(tmp_path)
    assert made.parameters == ELEMENTS + 24 * 16
    assert any("vae" in note for note in made.notes)


def test_towers_are_kinds_that_text_does_not_pass(tmp_path):
    config = {**UNKNOWN, "text_config": CONFIG, "vision_config": {"depth": 1}}
    tower = {"model.visual.blocks.0.attn.qkv.weight": ("BF16", (48, 16)), "model.visual.merger.0.bias": ("BF16", (16,))}
    texts = {name.replace("model.", "model.language_model."): item for name, item in TENSORS.items()}
    made = describe(release(tmp_path, config, texts | tower))
    assert made.parameters == ELEMENTS + 48 * 16 + 16
    assert kinds(made)["vision"] == 48 * 16 + 16
    assert made.solve("forward_matmul_flops_per_token") == 2 * (ELEMENTS - 1600 - 7 * 16)


def test_a_release_behind_a_url_is_read_by_its_headers_alone(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    release(tmp_path, CONFIG, dict(list(TENSORS.items())[:9]), dict(list(TENSORS.items())[9:]))
    memory = fsspec.filesystem("memory")
    for path in tmp_path.iterdir():
        memory.pipe(f"/zoo/mine/{path.name}", path.read_bytes())
    ranges = []
    read = resolve.RemoteFiles.read
    monkeypatch.setattr(resolve.RemoteFiles, "read", lambda *given: ranges.append(given[1:]) or read(*given))
    answer = ingest.model("memory://zoo/mine")
    assert answer.results["parameters"].value == ELEMENTS
    assert sum(size for name, _, size in ranges if name.endswith(".safetensors")) < 2 * ELEMENTS
    assert ingest.memory(model="memory://zoo/mine").results["model_state_bytes"].value == 16 * ELEMENTS
    memory.pipe("/zoo/mine/model-00002-of-00002.safetensors", b"1234")
    with pytest.raises(IngestError, match="memory://zoo/mine/model-00002"):
        ingest.model("memory://zoo/mine")
    with pytest.raises(UsageError):
        ingest.model("memory://zoo/none")
