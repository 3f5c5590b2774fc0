"""Commented templates for entries of your own."""

from __future__ import annotations

from ingest.catalog.records import Entry
from ingest.errors import UsageError, expected_one_of

_VALUE = "{{value: {value}, unit: {unit}, source: my-source, where: page or line, grade: measured}}"

_HEAD = """\
# {name}: a {thing} of your own. The file's stem is its id.
#   use it     ingest {command} --{option} {name}.yaml …
#   or put it  into DIR/{kind}/{name}.yaml and set --catalogs DIR
#   check it   ingest catalog check DIR
# Each value needs unit, source and grade: measured, published, vendor, derived or assumed. No source, no load.
# `low` and `high` are optional and feed the ranges. Delete what you do not know: the tool guesses nothing.
sources:
  my-source: {{title: "Where the numbers come from", url: "", version: ""}}

name: {name}
"""

_BODIES = {
    "models": """\
sample: one image                    # what ONE sample is; every figure below is per sample
family: vision                       # `ingest catalog list families`
# forward and backward pass: six times the GMAC that torchvision, timm and fvcore print
flops_per_sample: {flops}
dataset: my data set
dataset_samples: {samples}
encodings:
  jpeg:                              # the first encoding is the default
    # bytes read from storage: mean size of a stored sample, compressed as stored
    stored: {stored}
    # bytes that the host passes to the GPU
    decoded: {decoded}
    samples_per_file: {per_file}
# Measured rates go into a CSV of the same stem next to this file, one row per run:
# gpu,precision,samples_per_second_per_gpu,achieved_flops_per_gpu,gpus,nodes,protocol,round,source,where,grade,note
# h100-sxm,bf16,1234.5,,8,1,paper,,my-source,log of 2026-01-31,measured,
""",
    "gpus": """\
vendor: NVIDIA                       # rates are scaled between GPUs of one vendor
form: SXM5
peak_flops:                          # DENSE peaks; a sparse headline figure is twice the dense one
  bf16: {peak}
memory_bytes: {memory}
memory_bandwidth: {bandwidth}
gpus_per_node: {gpus}
""",
    "nodes": """\
gpu: h100-sxm                        # `ingest catalog list gpus`
gpus_per_node: {gpus}
compute_nics: 8x400Gb
compute_nic_bandwidth: {compute}
storage_nics: 2x200Gb                # the path to storage; a compute NIC is not part of it
storage_nic_bandwidth: {storage}
""",
    "corpora": """\
holds: tokens                        # or samples
tokenizer: Llama 3                   # whose tokens are counted
tokens: {tokens}
# uncompressed text; the compressed files are stored_bytes
clean_bytes: {clean}
documents: {documents}
vocabulary: {vocabulary}
""",
    "pipelines": """\
input: WARC of one crawl             # the input, in words
output: filtered text                # the output, in words
input_form: gzip                     # how the bytes of both were counted: plain, gzip, zstd, …
output_form: plain
input_bytes: {input}
output_bytes: {output}
documents_kept: {kept}
""",
    "formats": """\
holds: [tokens, text, samples]       # what it can hold
record: document                     # its records: document, sequence or sample
container_bytes_per_record: {container}
index_bytes_per_record: {index}
shard_fixed_bytes: {fixed}
shard_bytes: {shard}
""",
}

#: kind -> the command and the option that take an entry of it
_OPTIONS = {
    "models": ("bw", "model"),
    "gpus": ("bw", "gpu"),
    "nodes": ("bw", "node"),
    "corpora": ("dataset", "corpus"),
    "pipelines": ("dataset", "pipeline"),
    "formats": ("dataset", "format"),
}


def template(record: type[Entry], name: str) -> str:
    """Return a commented template that loads without changes.

    Raises:
        UsageError: a kind without a template.
    """
    kind = record.kind
    if kind not in _BODIES:
        raise UsageError(f"there is no template for {kind}, {expected_one_of(kind, _BODIES)}")

    def value(number: float | str, unit: str) -> str:
        return _VALUE.format(value=number, unit=unit)

    body = _BODIES[kind].format(
        flops=value(24.5, "GFLOP/sample"),
        samples=value(1281167, "sample"),
        stored=value(114.7, "kB/sample"),
        decoded=value(150528, "B/sample"),
        per_file=value(1, "sample/file"),
        peak=value(989.4, "TFLOP/s"),
        memory=value(80, "GB"),
        bandwidth=value(3.35, "TB/s"),
        gpus=value(8, "GPU/node"),
        compute=value(400, "GB/s"),
        storage=value(400, "Gb/s"),
        tokens=value("1.0e+12", "token"),
        clean=value(4, "TB"),
        documents=value("1.5e+9", "document"),
        vocabulary=value(128256, '"1"'),
        input=value(80, "TB"),
        output=value(1, "TB"),
        kept=value(0.1, '"1"'),
        container=value(8, "B"),
        index=value(20, "B"),
        fixed=value(64, "B/file"),
        shard=value(1, "GB/file"),
    )
    command, option = _OPTIONS[kind]
    return _HEAD.format(name=name, thing=option, command=command, option=option, kind=kind) + body
