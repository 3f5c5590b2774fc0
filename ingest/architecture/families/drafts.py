"""Draft models of speculative decoding: small decoders that read hidden states of the model whose tokens they propose.

The name of the class decides: the files carry the model type of the decoder whose layers the draft repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families.mla import latent
from ingest.architecture.hf_config import MAX_LAYERS, REQUIRED, ModelConfig
from ingest.architecture.layers import embedding, gated_mlp, linear, norm, sizes, sliding, windowed
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times

_JOINED = 3  # Layers of the target whose states EAGLE-3 joins

#: Keys that the configuration of a target leaves in a file and that the class of the draft does not read.
_OF_TARGET = (
    "add_classification_head", "attention_head_dim", "class_num", "decoder_sparse_step", "dense_list",
    "modal_type", "norm_type", "org_vocab_size", "pool_type", "target_model_type", "use_mrope",
    "use_rotary_pos_emb", "use_sliding_window", "norm_output", "num_target_layers", "block_size",
)  # fmt: skip


def _eagle_layer(config: ModelConfig, into: int, norms: int) -> Iterator[TableRow]:
    """A layer of LLaMA whose Q, K and V read `into` times the width."""
    s = sizes(config, 0, 0, 0, 0, 0)
    yield from [*_reading(into, s.hidden, s.attention()), *s.gated(), *norm("norm", s.hidden, number=norms)]


def _reading(into: int, hidden: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of attention whose matrices over the states read so many of them side by side."""
    for row in rows:
        joined = isinstance(row, Weight) and row.shape[1:] == (hidden,) and row.name != "attention.o"
        yield row._replace(shape=(row.shape[0], into * hidden)) if joined and isinstance(row, Weight) else row


@family("eagle3", "p_eagle", "eagle3_mla")
def eagle3(config: ModelConfig) -> Iterator[TableRow]:
    """Li et al. 2025: one layer of LLaMA over the embedding beside three joined states, whatever the depth in the file.

    P-EAGLE has further layers of LLaMA, and a learned state for the tokens to come; another form has one layer of DeepSeek's
    latent attention. Releases leave out the embedding, which is that of the target.
    """
    kind = config.data["model_type"]
    if kind == "eagle3_mla":
        config.only("fc_norm", False)
        a = latent(config, 0, 0, None, 512, 128, 64, 128)
        hidden = a.hidden
        config.ignore("num_hidden_layers")
        feed = gated_mlp(hidden, config.size("intermediate_size", 0))
        layers: Iterable[TableRow] = [*_reading(2, hidden, a.attention()), *feed, *norm("norm", hidden, number=3)]
    else:
        hidden = config.size("hidden_size", 0)
        layers = _eagle_layer(config, 2, 3)
    if kind == "p_eagle":
        config.ignore("norm_before_residual")
        layers = [*layers, *times(config.size("num_hidden_layers", 0, high=MAX_LAYERS) - 1, _eagle_layer(config, 1, 2))]
        config.only("fc_norm", False)
    target = config.integer("target_hidden_size", hidden)
    if kind == "p_eagle":
        yield Weight("mask", (_JOINED * target,), "other")
    config.ignore(*_OF_TARGET)
    config.fixed(attention_bias=False, mlp_bias=False)
    if config.get("use_cla")[1] is False:
        config.ignore("cla_share_factor")
    config.only("use_cla", False)
    words = config.size("vocab_size", 0)
    few = config.integer("draft_vocab_size", words, high=words)
    if few == words:
        config.only("tie_word_embeddings", False)
    config.ignore("tie_word_embeddings")
    if stated := config.part("eagle_config"):
        # The class joins this many states, and has these norms alone.
        listed = stated.integers("eagle_aux_hidden_state_layer_ids", low=0)
        if listed is not None and len(listed) != _JOINED:
            raise stated.refuse("eagle_aux_hidden_state_layer_ids", f"{len(listed)} layers", f"{_JOINED} layers")
        stated.fixed(use_aux_hidden_state=True, use_input_layernorm_in_first_layer=True, use_last_layernorm=True)
        stated.only("use_mtp_layernorm", False)
    yield embedding(words, hidden)
    yield from linear("joint", hidden, _JOINED * target)
    if config.flag("fc_norm", False):
        yield from norm("joint.norm", target, number=_JOINED)
    yield from [*layers, *norm("final_norm", hidden), Weight("head", (few, hidden), "head", passes=1)]


def _blocks(config: ModelConfig, states: int, twice: bool = False) -> Iterator[TableRow]:
    """Layers of Qwen3 over a block of tokens and the states of the target, with a norm before and one after.

    One product joins the states of so many layers of the target, none where each layer weighs them; `twice`: K and V of these
    states have matrices of their own.
    """
    config.ignore(*_OF_TARGET, "max_window_layers", "num_anchors", "attention_backend", "tie_word_embeddings", "vocab_size")
    s = sizes(config, 0, 0, 0, 0, 0)
    config.only("target_hidden_size", s.hidden)
    bias, narrow = config.flag("attention_bias", False), s.kv_heads * s.width
    short, window = sliding(config, s.layers)
    further = times(2, linear("attention.target_k and v", narrow, s.hidden, bias, "attention")) if twice else ()
    mixer = [row._replace(causal=False) if isinstance(row, Attention) else row for row in s.attention(bias)]
    layer = [*mixer, *further, *s.head_norms(), *s.gated(), *s.norms(2)]
    if states:
        yield from linear("joint", s.hidden, states * s.hidden)
    yield from norm("joint.norm", s.hidden)
    yield from windowed(times(s.layers, layer), short, window)
    yield from norm("final_norm", s.hidden)


def _states(stated: ModelConfig) -> int:
    """The number of layers of the target whose states the draft reads."""
    listed = stated.integers("target_layer_ids", low=0)
    if not listed:
        raise stated.refuse("target_layer_ids", listed, "the numbers of the target's layers whose states the draft reads")
    stated.ignore("pure_draft_prefix_len", "shift_label", "projector_type", "attention_mode")
    return len(listed)


@family("dflash_qwen3", "dflare_qwen3")
def dflash_qwen3(config: ModelConfig) -> Iterator[TableRow]:
    """DFlash: a block of tokens at once; embedding and head are those of the target.

    The layers of DFlare weigh the target's states, and read them through matrices of their own.
    """
    states = _states(config.table("dflash_config"))
    weighing = config.data["model_type"] == "dflare_qwen3"
    yield from _blocks(config, 0 if weighing else states, twice=weighing)
    if weighing:
        yield Weight("joint.shares", (config.size("num_hidden_layers", 0), states), "other")


@family("dspark_qwen3")
def dspark_qwen3(config: ModelConfig) -> Iterator[TableRow]:
    """DSpark: DFlash with a bias of low rank by the token before, and a forecast of what the target accepts."""
    stated, hidden = config.table("dflash_config"), config.size("hidden_size", 0)
    yield from _blocks(config, _states(stated))
    words, rank = config.size("vocab_size", 0), stated.integer("markov_rank", 0, low=0)
    kind = stated.text("markov_head_type", "vanilla", choices=("vanilla", "gated", "rnn"))
    if rank:
        yield Weight("markov.embedding", (words, rank), "embedding")
        yield from linear("markov.head", words, rank, kind="head")
        if kind == "gated":
            yield from linear("markov.gate", rank, hidden + rank, True)
        elif kind == "rnn":
            yield from linear("markov.joint", 3 * rank, hidden + 2 * rank, True)
    stated.ignore("confidence_head_alpha")
    _, weight = stated.get("confidence_head_alpha")
    if stated.flag("enable_confidence_head", bool(weight)):
        yield from linear("confidence", 1, hidden + (rank if stated.flag("confidence_head_with_markov", False) else 0), True)


@family("domino_qwen3")
def domino_qwen3(config: ModelConfig) -> Iterator[TableRow]:
    """Domino: DFlash with a recurrent correction of the scores."""
    stated, hidden = config.table("dflash_config"), config.size("hidden_size", 0)
    yield from _blocks(config, _states(stated))
    narrow, gates = stated.whole(emb_dim=REQUIRED, gru_hidden_dim=REQUIRED)
    config.only("emb_dim", narrow)
    yield from linear("gru.input", 3 * gates, hidden)
    yield from linear("gru.state", 3 * gates, gates)
    yield from linear("correction.1", narrow, hidden + gates)
    yield from linear("correction.2", config.size("vocab_size", 0), narrow, kind="head")


@family("dflash")
def dflash(config: ModelConfig) -> Iterator[TableRow]:
    """DFlash under its own model type, with the embedding of the target and as many joined states as the file says."""
    config.ignore("architectures", "target_layer_ids", "target_num_hidden_layers")
    config.only("attention_bias", False)
    hidden = config.size("hidden_size", 0)
    states = config.integer("num_target_layers", 5)
    listed = config.integers("target_layer_ids", low=0)
    if listed is not None and len(listed) != states:
        raise config.refuse("target_layer_ids", f"{len(listed)} layers", f"num_target_layers, {states}")
    config.only("layer_types")
    yield embedding(config.size("vocab_size", 0), hidden)
    yield from _blocks(config, states)
