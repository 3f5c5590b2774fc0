"""Devices, nodes and data sets by the names that tools print and people type: the right entry, a list, or the nearest."""

import random
import re
from contextlib import suppress

import pytest

from ingest.catalog.records import Corpus, Gpu, Node
from ingest.catalog.store import MAX_NAME, meaning, plain, unwrapped, words_of
from ingest.errors import UsageError

UUID = "(UUID: GPU-513536b6-7d19-9063-b049-1e69664bb298)"

GPUS = {
    # nvidia-smi -L, --query-gpu, and names of products
    f"GPU 0: NVIDIA H100 80GB HBM3 {UUID}": "h100-sxm",
    f"GPU 7: NVIDIA A100-SXM4-80GB {UUID}": "a100-80-sxm",
    f"GPU 1: NVIDIA GeForce RTX 3090 {UUID}": "rtx-3090",
    "NVIDIA A100-SXM4-40GB": "a100-40-sxm",
    "NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA A800-SXM4-80GB": "a800-80-sxm",
    "NVIDIA A800 80GB PCIe": "a800-80-pcie",
    "NVIDIA A800 40GB Active": "a800-40-pcie",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H200": "h200-sxm",
    "NVIDIA H200 NVL": "h200-nvl",
    "NVIDIA H800": "h800",
    "NVIDIA H800 PCIe": "h800-pcie",
    "NVIDIA H20": "h20",
    "NVIDIA H20-3e": "h20-141",
    "NVIDIA B200": "b200",
    "NVIDIA B300 SXM6 AC": "b300",
    "NVIDIA GB200": "gb200",
    "NVIDIA GB300": "gb300",
    "NVIDIA GH200 480GB": "gh200-96",
    "NVIDIA GH200 144G HBM3e": "gh200-144",
    "0, NVIDIA H200, 143771 MiB": "h200-sxm",
    "Product Name                    : NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)": "h100-sxm",
    "Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]": "mi300x",
    "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI210": "mi210",
    "Marketing Name:          AMD Instinct MI300A": "mi300a",
    "| 0  | Device Name: Intel(R) Data Center GPU Max 1550          |": "pvc-max1550",
    "gpu.nvidia.com/class=A100_NVLINK_80GB": "a100-80-sxm",
    "NVIDIA A10G": "a10g",
    "NVIDIA RTX A6000": "rtx-a6000",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    "NVIDIA RTX 5000 Ada Generation": "rtx-5000-ada",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "rtx-pro-6000-max-q",
    "Quadro RTX 6000": "quadro-rtx-6000",
    "Quadro RTX 8000": "quadro-rtx-8000",
    "NVIDIA TITAN RTX": "titan-rtx",
    "NVIDIA GeForce RTX 2080 Ti": "rtx-2080-ti",
    "NVIDIA GeForce RTX 3080 Ti": "rtx-3080-ti",
    "NVIDIA GeForce RTX 4070 Ti SUPER": "rtx-4070-ti-super",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "NVIDIA GeForce RTX 4090 D": "rtx-4090-d",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "Tesla T4": "t4",
    "Tesla P100-SXM2-16GB": "p100",
    "Tesla P100-PCIE-16GB": "p100-pcie",
    "Tesla P100-PCIE-12GB": "p100-12-pcie",
    "Tesla V100-SXM2-16GB": "v100-sxm2-16",
    "Tesla V100-SXM2-32GB": "v100-sxm2",
    "Tesla V100-PCIE-16GB": "v100-pcie-16",
    "Tesla V100-PCIE-32GB": "v100-pcie",
    "Tesla V100S-PCIE-32GB": "v100s-pcie",
    "NVIDIA H100 80GB HBM3, 81559 MiB": "h100-sxm",
    "NVIDIA GeForce RTX 4090, 24564 MiB": "rtx4090",
    "NVIDIA L40S, 46068 MiB": "l40s",
    "NVIDIA A100-SXM4-40GB, 40960 MiB": "a100-40-sxm",
    "NVIDIA A100-SXM4-40GB (40960MB)": "a100-40-sxm",
    "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:04:00.0 Off |                    0 |": "h100-sxm",
    "device_name=NVIDIA_H20-3e": "h20-141",
    # rocm-smi, amd-smi, hl-smi, and other vendors
    "MARKET_NAME: AMD Instinct MI300X VF": "mi300x",
    "|   0  HL-225              N/A  | 0000:33:00.0     N/A |                  21  |": "gaudi2",
    "AMD Instinct MI300X OAM": "mi300x",
    "AMD Instinct MI300A": "mi300a",
    "AMD Instinct MI325X": "mi325x",
    "AMD Instinct MI350 OAM": "mi350x",
    "AMD Instinct MI355X": "mi355x",
    "AMD INSTINCT MI250 (MCM) OAM AC MBA": "mi250",
    "Arcturus GL-XL [AMD Instinct MI100]": "mi100",
    "Card series: AMD Instinct MI210": "mi210",
    "HL-325L": "gaudi3",
    "HL-225": "gaudi2",
    "Intel Gaudi 3": "gaudi3",
    "Intel(R) Data Center GPU Max 1550": "pvc-max1550",
    "TPU v4": "tpu-v4",
    "TPU v5 lite": "tpu-v5e",
    "TPU v5": "tpu-v5p",
    "TPU v6 lite": "tpu-v6e",
    "v5p": "tpu-v5p",
    "tpu-v6e": "tpu-v6e",
    "v5litepod-8": "tpu-v5e",
    "v5p-128": "tpu-v5p",
    "Trainium2": "trn2",
    "Inferentia2": "inf2",
    # Slurm, Kubernetes, and what people type
    "gpu:h100:8": "h100-sxm",
    "gpu:nvidia_h100_80gb_hbm3:4(S:0-1)": "h100-sxm",
    "gres/gpu:a100=4": "a100-80-sxm",
    "--gres=gpu:rtx_3090:2": "rtx-3090",
    "--gpus-per-node=h200:8": "h200-sxm",
    "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3": "h100-sxm",
    "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-SHARED": "a100-80-sxm",
    "amd.com/gpu.product-name=AMD_Instinct_MI300X_OAM": "mi300x",
    "cloud.google.com/gke-accelerator=nvidia-tesla-a100": "a100-40-sxm",
    "cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb": "h100-sxm",
    "cloud.google.com/gke-tpu-accelerator=tpu-v5p-slice": "tpu-v5p",
    "8x H100": "h100-sxm",
    "H100:8": "h100-sxm",
    "A100-80GB": "a100-80-sxm",
    "4090": "rtx4090",
    "a800": "a800-80-sxm",
    "h100 80gb": "h100-sxm",
    "H100-SXM5-80GB": "h100-sxm",
    "h100nvl": "h100-nvl",
    "RTX 3090": "rtx-3090",
}

NODES = {
    "p4d.24xlarge": "aws-p4d",
    "p5.48xlarge": "aws-p5",
    "p5.4xlarge": "aws-p5-4xlarge",
    "p5en.48xlarge": "aws-p5en",
    "ml.p5e.48xlarge": "aws-p5e",
    "p6-b200.48xlarge": "aws-p6-b200",
    "u-p6e-gb200x72": "aws-p6e-gb200",
    "g5.48xlarge": "aws-g5",
    "g6e.12xlarge": "aws-g6e-12xlarge",
    "trn1n.32xlarge": "aws-trn1n",
    "node.kubernetes.io/instance-type=gd-8xh100ib-i128": "hgx-h100-1x100",
    "a2-ultragpu-8g": "gcp-a2-ultra",
    "a2-highgpu-8g": "gcp-a2-high",
    "a3-megagpu-8g": "gcp-a3-mega",
    "a3-ultragpu-8g": "gcp-a3-ultra",
    "a4-highgpu-8g": "gcp-a4",
    "g2-standard-96": "gcp-g2-96",
    "g4-standard-384": "gcp-g4-384",
    "ct6e-standard-4t": "gcp-v6e-4",
    "ND H100 v5": "azure-nd-h100-v5",
    "Standard_ND96isr_H100_v5": "azure-nd-h100-v5",
    "Standard_ND96is_flex_H200_v5": "azure-nd-h200-v5",
    "Standard_ND96amsr_A100_v4": "azure-ndm-a100-v4",
    "Standard_ND96asr_v4": "azure-nd-a100-v4",
    "Standard_NC96ads_A100_v4": "azure-nc96-a100-v4",
    "Standard_ND40rs_v2": "azure-ndv2",
    "BM.GPU.H100.8": "oci-h100-8",
    "BM.GPU.MI355X-v1.8": "oci-mi355x-8",
    "BM.GPU4.8": "oci-gpu4-8",
    "BM.GPU.A10.4": "oci-a10-4",
    "NVIDIA DGX B200": "dgx-b200",
    "DGX A100 40GB": "dgx-a100-40",
}

CORPORA = {
    "HuggingFaceFW/fineweb-2": "fineweb-2",
    "hf://datasets/HuggingFaceFW/fineweb": "fineweb",
    "https://huggingface.co/datasets/PleIAs/common_corpus": "common-corpus",
    "FineWeb 2": "fineweb-2",
    "nvidia/Nemotron-CC": "nemotron-cc",
    "SA 1B": "sa-1b",
    "imagenet": "imagenet-1k",
    "Open_X_Embodiment": "open-x-embodiment",
    "HuggingFaceVLA/community_dataset_v1": "lerobot-community-v1",
    "https://huggingface.co/datasets/cadene/droid_1.0.1": "droid-lerobot",
    "mlfoundations/datacomp_xlarge": "datacomp-xlarge",
}

#: names that could be several entries: none of them is chosen
AMBIGUOUS = {
    "NVIDIA RTX 6000": {"quadro-rtx-6000", "rtx6000ada", "rtx-pro-6000"},
    "RTX 4000": {"quadro-rtx-4000", "rtx-4000-ada", "rtx-pro-4000"},
    "Tesla V100": {"v100-sxm2", "v100-sxm2-16"},
    "AMD Instinct MI250X / MI250": {"mi250", "mi250x"},
    "H100 94GB": {"h100-nvl"},
    "RTX 4060 Ti": {"rtx-4060-ti-16"},
}

#: names of devices that are not in the catalogs, and what is near; never one of these
UNKNOWN = {
    "NVIDIA H100 64GB": "h100-sxm",
    "NVIDIA A100-SXM-64GB": "a100-80-sxm",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "rtx4090",
    "GRID A100-40C": "a100-80-sxm",
    "AMD H100": "h100-sxm",
    "AMD Instinct MI308X OAM": "mi300x",
    "Tesla V100-FHHL-16GB": "v100-sxm2-16",
    "NVIDIA GeForce RTX 4090, 49140 MiB": "rtx4090",
}


@pytest.mark.parametrize(
    ("record", "written", "entry"),
    [(record, *pair) for record, table in ((Gpu, GPUS), (Node, NODES), (Corpus, CORPORA)) for pair in table.items()],
)
def test_a_name_as_tools_print_it_is_its_entry(shipped, record, written, entry):
    assert shipped.get(record, written).id == entry


def test_spellings_change_nothing(shipped):
    # Case, the separator between words, and blanks at the ends, drawn for every name.
    draw = random.Random(42)
    for record, table in ((Gpu, GPUS), (Node, NODES)):
        for written, entry in table.items():
            for _ in range(6):
                name = written
                if not re.search(r"[:=/(|]", name):
                    name = re.sub(r"[ _-]", lambda _: draw.choice(" _-"), name)
                name = "".join(draw.choice((letter.upper(), letter.lower())) for letter in name)
                assert shipped.get(record, draw.choice(("", " ")) + name).id == entry, name


def test_memory_and_form_agree_with_the_entry(shipped):
    # Of every name that tells memory or form, the entry has them.
    for written, entry in GPUS.items():
        card = shipped.get(Gpu, entry)
        words = words_of(unwrapped(written))
        for size in (int(word[:-2]) for word in words if re.fullmatch(r"\d+gb", word)):
            hosts = {"gh200-96": 480}.get(entry)  # memory of the CPU of the superchip
            assert size == hosts or 0.93 * size * 1e9 < card.memory_bytes.value < 1.08 * size * 1e9, (written, entry)
        if "pcie" in words:
            assert card.form == "PCIe", (written, entry)
        if any(word.startswith("sxm") for word in words):
            assert card.form.startswith("SXM"), (written, entry)


@pytest.mark.parametrize(("written", "possible"), AMBIGUOUS.items())
def test_an_ambiguous_name_is_answered_by_a_list(shipped, written, possible):
    with pytest.raises(UsageError, match=f"gpu '{re.escape(written)}' could be ") as refused:
        shipped.get(Gpu, written)
    assert all(entry in str(refused.value) for entry in possible)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("written", "near"), UNKNOWN.items())
def test_an_unknown_device_names_three_near_ones(shipped, written, near):
    with pytest.raises(UsageError, match="unknown gpu") as refused:
        shipped.get(Gpu, written)
    assert re.search(rf"nearest .*\b{near}\b|did you mean", str(refused.value)), refused.value
    assert meaning(written, shipped.patterns["gpus"]).entry == ""


@pytest.mark.parametrize("written", ["NVIDIA A100-SXM4-40GB MIG 1g.5gb", "gpu:nvidia_a100_3g.20gb:2"])
def test_a_slice_of_a_gpu_is_no_gpu(shipped, written):
    with pytest.raises(UsageError, match="is a slice of a GPU, expected the whole GPU: a100-"):
        shipped.get(Gpu, written)


def test_a_node_in_the_place_of_a_gpu_is_named(shipped):
    with pytest.raises(UsageError, match=r"'p5.48xlarge' is a node type, expected a gpu: give --node aws-p5$"):
        shipped.get(Gpu, "p5.48xlarge")
    with pytest.raises(UsageError, match="'NVIDIA H200' is a GPU, expected a node: give --gpu h200-sxm"):
        shipped.get(Node, "NVIDIA H200")


@pytest.mark.parametrize(
    "written",
    ["h100\x1b[31m", "h100\x00", "h100\nrm", "\u202eh100", "", " ", "80gb", "nvidia", "gpu:8", "gpu:", "🙂", "h" * MAX_NAME,
     "x" * 5000, "GPU 0:", "a" * 60 + " " * 100 + "b", ("8x " * 80)[:MAX_NAME], "../../etc/passwd", "((((((((((((("],
)  # fmt: skip
def test_a_hostile_name_is_refused_in_one_line(shipped, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no path leads to a file
    for record in (Gpu, Node, Corpus):
        with pytest.raises(UsageError) as refused:
            shipped.get(record, written)
        assert str(refused.value).isprintable()


def test_any_pieces_of_names_are_an_entry_or_a_refusal(shipped):
    pieces = [
        *"08|:()/=.-_x, 🙂é", "80", "mib", "gb", "81559", "9" * 30, "gpu:", "gres/gpu:", "GPU 0: ", "(UUID:", "h100", "rtx",
        "v5", "lite", "pcie", "mig", "1g.5gb", "hf://", "org/name", ".yaml", "nvidia", "amd", "8x ",
    ]  # fmt: skip
    draw = random.Random(7)
    for _ in range(100):
        written = "".join(draw.choices(pieces, k=draw.randint(1, 12)))
        for record in (Gpu, Node, Corpus):
            with suppress(UsageError):
                assert shipped.get(record, written).id


def test_a_data_set_that_is_not_listed_says_what_to_give(shipped):
    with pytest.raises(UsageError, match="'nobody/knows' is not in the catalogs: give --tokens, or --samples"):
        shipped.get(Corpus, "nobody/knows")


def test_no_two_entries_share_a_pattern(shipped):
    for kind, patterns in shipped.patterns.items():
        for one in patterns:
            twins = [other.entry for other in patterns if other.needed == one.needed and other.entry != one.entry]
            # One instruction set is that of several products, which are listed.
            assert not twins or one.needed == {"tesla", "v100"} or min(one.needed).startswith("gfx"), (kind, one)
            assert one.entry in shipped.ids(kind)


def test_every_gpu_is_found_by_its_product_name(shipped):
    # The first words of its name are enough, or several are offered; never another device.
    for card in shipped.all(Gpu):
        name = re.sub(r"\(.*\)", "", card.name)
        found = shipped.meaning("gpus", name)
        assert found.entry in ("", card.id), (card.id, name, found)


def test_numbers_stay_apart():
    assert plain("llama-3-18b") != plain("llama-3.1-8b")
    assert plain("llama 3 70b") == plain("Llama-3-70B")
