"""One function per family: config -> rows of weights. Each module is read when one of its families is asked for."""

#: module -> the model types that it describes
PLACES = {
    "gpt2_era": """
        bloom codegen falcon gpt2 gpt_bigcode gpt_neo gpt_neox gptj mpt openai-gpt opt xglm
    """,
    "decoders": """
        apertus arcee bitnet cohere cohere2 cwm ernie4_5 exaone4 gemma gemma2 gemma3_text glm glm4 granite
        helium hunyuan_v1_dense internlm3 jais2 llama ministral ministral3_text mistral nanochat nemotron olmo
        olmo2 olmo3 persimmon phi phi3 qwen2 qwen3 seed_oss smollm3 stablelm starcoder2 vaultgemma
    """,
    "encoders": """
        albert bert camembert deberta deberta-v2 distilbert electra ernie megatron-bert modernbert roberta
        xlm-roberta
    """,
    "mla": """
        deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa minicpm3 youtu
    """,
    "moe": """
        afmoe dots1 ernie4_5_moe exaone_moe flex_olmo glm4_moe gpt_oss granitemoe granitemoeshared
        hunyuan_v1_moe hy_v3 llama4_text minimax_m2 mixtral olmoe phimoe qwen2_moe qwen3_moe solar_open
        dbrx jetmoe laguna
    """,
    "vision_language": """
        gemma3 gemma4 gemma4_text kimi_k25 llama4 llava llava_next ministral3 mistral3 paligemma qwen2_5_vl
        qwen2_5_vl_text qwen2_vl qwen2_vl_text qwen3_5 qwen3_5_moe qwen3_vl qwen3_vl_moe qwen3_vl_moe_text
        qwen3_vl_text
    """,
    "linear_attention": """
        lfm2 lfm2_moe qwen3_5_moe_text qwen3_5_text qwen3_next recurrent_gemma rwkv
    """,
    "encoder_decoders": """
        bart blenderbot m2m_100 marian mbart mt5 pegasus t5 umt5 whisper
    """,
    "state_space": """
        bamba falcon_h1 falcon_mamba granitemoehybrid jamba mamba mamba2 nemotron_h
    """,
}
