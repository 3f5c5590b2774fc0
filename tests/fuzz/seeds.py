"""What the fuzzer mutates: good site files, plans, tests, catalogs, corpora and workbooks, made from this repository."""

import base64
import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import random
import shutil
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
LINES = [f"line {number} of a text that is counted, with the words storage, épreuve and 名前\n" for number in range(12)]
TEXT = "".join(LINES).encode()
#: An answer of fio 3.36, reduced to what a verdict reads.
_WAYS = {
    way: {
        "bw_bytes": rate, "bw": rate // 1024, "io_bytes": 2 * rate, "iops": rate / 131072, "runtime": 2000,
        "total_ios": rate // 65536, "clat_ns": {"mean": 200000.5, "N": 100, "percentile": {"99.000000": 900000}},
    }
    for way, rate in {"read": 1_200_000_000, "write": 0}.items()
}  # fmt: skip
_OPTIONS = {"rw": "randread", "bs": "131072", "numjobs": "2", "filename_format": "x.$jobnum.$filenum", "size": "33554432"}
_JOB = {"jobname": "T-READ-01-fio", "error": 0, "total_err": 0, "job_runtime": 2000, "hostname": "n1", "port": "8765"}
FIO = {
    "fio version": "fio-3.36",
    "timestamp_ms": 1767607200000,
    "global options": {"direct": "1", "ioengine": "psync", "runtime": "2"},
    "jobs": [{**_JOB, "job options": _OPTIONS, **_WAYS}],
}
CONFIGS: list[dict[str, Any]] = [
    {
        "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280,
        "max_position_embeddings": 163840,
    },
    {
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
        "vocab_size": 50257,
    },
    {
        "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
        "vocab_size": 32000, "torch_dtype": "bfloat16", "sliding_window": None,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    },
    {
        "model_type": "bert", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "vocab_size": 30522, "type_vocab_size": 2, "max_position_embeddings": 512,
    },
]  # fmt: skip


@dataclass
class Seeds:
    """Good inputs, by what they are.

    Attributes:
        sites: site files; plans, measures, observation: JSON; configs: structures of models.
        tests: path -> content of what `accept` writes, without the sums.
        logs: file name -> content of what jobs left: training logs, a Darshan log, a DFTracer trace.
        results: result files of benchmark tools.
        entries: kind of catalog -> name -> content; sources: the sources of the catalogs.
        tokenizers, corpora: file name -> content; ledgers: of a measurement of `a.txt`.
        books: workbooks as sent and as filled; templates: documents.
        quantities, requirements: names; ids: kind of catalog -> ids.
    """

    sites: list[str] = field(default_factory=list)
    site_keys: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    observation: str = ""
    logs: dict[str, bytes] = field(default_factory=dict)
    tests: dict[str, bytes] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)
    configs: list[str] = field(default_factory=list)
    config_keys: list[str] = field(default_factory=list)
    entries: dict[str, dict[str, bytes]] = field(default_factory=dict)
    ledgers: list[str] = field(default_factory=list)
    tokenizers: dict[str, bytes] = field(default_factory=dict)
    corpora: dict[str, bytes] = field(default_factory=dict)
    books: list[bytes] = field(default_factory=list)
    templates: list[bytes] = field(default_factory=list)
    quantities: list[str] = field(default_factory=list)
    requirements: list[str] = field(default_factory=list)
    ids: dict[str, list[str]] = field(default_factory=dict)


def make() -> Seeds:
    """Make all seeds; takes seconds, and imports much: call it in a process of its own."""
    seeds = Seeds()
    with contextlib.ExitStack() as open_:
        open_.enter_context(contextlib.chdir(open_.enter_context(tempfile.TemporaryDirectory())))
        nowhere = open_.enter_context(open(os.devnull, "w"))
        open_.enter_context(contextlib.redirect_stdout(nowhere))
        open_.enter_context(contextlib.redirect_stderr(nowhere))
        for make_some in (_sites_and_plans, _acceptance, _catalogs, _corpora, _books):
            make_some(seeds)
    return seeds


def _sites_and_plans(seeds: Seeds) -> None:
    from rfp.offers import ONE_JOB, told

    seeds.sites = [yaml.safe_dump(ONE_JOB, sort_keys=False)]
    seeds.sites += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.yaml"))]
    seeds.sites.append((ROOT / "ingest/site/starter.yaml").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "ingest/site/schema.json").read_text(encoding="utf-8"))
    seeds.site_keys = sorted(_property_names(schema))
    for number, site in enumerate(seeds.sites[:2]):
        Path(f"site{number}.yaml").write_text(site, encoding="utf-8")
        told("plan", f"site{number}.yaml", "--samples", "0", "-o", f"plan{number}.json")
        seeds.plans.append(Path(f"plan{number}.json").read_text(encoding="utf-8"))
    seeds.requirements = sorted({line["id"] for plan in seeds.plans for line in json.loads(plan)["requirements"]})
    told("bw", "--model", "cosmoflow", "--gpu", "h100", "-o", "bw.json")
    seeds.measures.append(Path("bw.json").read_text(encoding="utf-8"))
    structures = ROOT / "docs/howto/structures"
    seeds.configs = [path.read_text(encoding="utf-8") for path in sorted(structures.rglob("*.*")) if path.is_file()]
    seeds.configs += [json.dumps(config, indent=1) for config in CONFIGS]
    seeds.config_keys = sorted({key for config in CONFIGS for key in config})


def _property_names(schema: Any) -> set[str]:
    found = set(schema.get("properties", {})) if isinstance(schema, dict) else set()
    below = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return found.union(*map(_property_names, below))


def _acceptance(seeds: Seeds) -> None:
    from acceptance import outputs
    from acceptance.plans import plan
    from rfp.offers import told

    seeds.plans.append(plan(Path()).read_text(encoding="utf-8"))
    told("observe", ROOT / "tests/observation/logs/megatron.log", "--gpus", "16", "-o", "observation.json")
    seeds.observation = Path("observation.json").read_text(encoding="utf-8")
    jobs = ROOT / "tests/observation"
    seeds.logs = {path.name: path.read_bytes() for path in sorted((jobs / "logs").iterdir())}
    with zipfile.ZipFile(jobs / "generated_jobs-dftracer.zip") as traces:
        seeds.logs["job.pfw.gz"] = traces.read(next(name for name in sorted(traces.namelist()) if name.endswith(".pfw.gz")))
    tools = [word for tool in ("fio", "ior", "mdtest", "elbencho", "dlio") for word in ("--tool", tool)]
    told("accept", "plan.json", "-o", "tests", "--scale", "1node", *tools)
    seeds.tests = {
        str(path): path.read_bytes()
        for path in sorted(Path("tests").rglob("*"))
        if path.is_file() and path.name != "SHA256SUMS"
    }
    seeds.results = {
        "T-READ-01-fio.run1.json": json.dumps(FIO).encode(),
        "T-READ-01-ior.run1.txt": outputs.ior_text("T-READ-01-ior", 1, 2, 2**25, 1099.0, seconds=2).encode(),
        "T-META-01-mdtest.run1.txt": outputs.mdtest("T-META-01-mdtest", 1, 2, "-C -T -E -r").encode(),
        "T-READ-01-elbencho.run1.json": outputs.elbencho_json("T-READ-01-elbencho", 1, 2, 1_200_000_000, seconds=2).encode(),
        "summary.json": outputs.summary(1, 1, 100, 300.0, 131072).encode(),
    }


def _catalogs(seeds: Seeds) -> None:
    from ingest.engine.registry import FORMULAS, INPUTS

    seeds.quantities = sorted([*FORMULAS, *INPUTS])
    for folder in sorted(path for path in (ROOT / "catalogs").iterdir() if path.is_dir()):
        names = sorted(path.stem for path in folder.glob("*.yaml"))
        seeds.ids[folder.name] = names
        chosen = names[:: max(1, len(names) // 4)]
        seeds.entries[folder.name] = {
            path.name: path.read_bytes()
            for path in sorted(folder.iterdir())
            if path.stem in chosen and path.stat().st_size < 60_000
        }
    seeds.entries[""] = {
        "aliases.yaml": b"models:\n  mine: cosmoflow\n",
        "sources.yaml": b"mine:\n  title: A source of my own\n",
    }


def _corpora(seeds: Seeds) -> None:
    from corpus.made import small_vocabulary
    from rfp.offers import told

    vocabulary = Path(small_vocabulary(Path()))
    words = [bytes([number]) for number in range(256)] + [b"th", b"the", b" the", b"in", b" of", b" a"]
    ranks = b"".join(base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(words))
    seeds.tokenizers = {"tokenizer.json": vocabulary.read_bytes(), "ranks.tiktoken": ranks}
    with contextlib.suppress(ImportError):
        seeds.tokenizers["pieces.model"] = _sentencepiece_model()
    seeds.corpora = _corpus_files()
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_bytes(TEXT)
    measured = ("measure", "corpus", "--quiet", "--exact", "--threads", "1", "--tokenizer", str(vocabulary))
    told(*measured, "--resume", "t.ledger", "-o", "measured.json")
    told("measure", "corpus", "--quiet", "--samples", "-o", "samples.json")
    seeds.ledgers = [Path("t.ledger").read_text(encoding="utf-8")]
    seeds.measures += [Path(name).read_text(encoding="utf-8") for name in ("measured.json", "samples.json")]


def _sentencepiece_model() -> bytes:
    import sentencepiece

    held = io.BytesIO()
    asked = {"vocab_size": 120, "hard_vocab_limit": False, "minloglevel": 9, "num_threads": 1}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES * 20), model_writer=held, **asked)
    return held.getvalue()


def _corpus_files() -> dict[str, bytes]:
    """One small file of each format that `measure` reads, by name."""
    rows = [{"text": line.strip(), "id": number, "meta": {"a": [number]}} for number, line in enumerate(LINES)]
    jsonl = "".join(json.dumps(row) + "\n" for row in rows).encode()
    csv = b"id,text\n" + b"".join(b'%d,"%s"\n' % (number, line.strip().encode()) for number, line in enumerate(LINES))
    body = b"WARC-Target-URI: http://example.org/\r\nContent-Type: text/plain\r\n"
    warc = b"".join(
        b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:%d>\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n"
        % (number, body, len(line.encode()), line.encode())
        for number, line in enumerate(LINES)
    )
    tar = _tar({"a.txt": TEXT, "b.json": jsonl.split(b"\n")[0], "b.txt": b"short", "d/c.jsonl": jsonl})
    files = {
        "plain.txt": TEXT, "rows.jsonl": jsonl, "list.json": json.dumps(rows).encode(), "table.csv": csv,
        "table.tsv": csv.replace(b",", b"\t", 12), "crawl.warc": warc, "crawl.warc.wet.gz": gzip.compress(warc),
        "archive.tar": tar, "archive.tgz": gzip.compress(tar), "plain.txt.gz": gzip.compress(TEXT),
        "plain.txt.bz2": bz2.compress(TEXT), "plain.txt.xz": lzma.compress(TEXT), "rows.jsonl.gz": gzip.compress(jsonl),
        "train.tfrecord": _tfrecord(),
    }  # fmt: skip
    with contextlib.suppress(ImportError):
        import zstandard

        files["rows.jsonl.zst"] = zstandard.ZstdCompressor().compress(jsonl)
    with contextlib.suppress(ImportError):
        files |= _columnar(rows)
    with contextlib.suppress(ImportError):
        files["volume.h5"] = _hdf5()
    return files


def _tar(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


def _tfrecord() -> bytes:
    """Records as TFRecord frames them."""
    from ingest.corpus.formats.archives import masked_checksum

    contents = [random.Random(size).randbytes(size) for size in (10, 200, 30)]
    parts = (part for content in contents for part in (len(content).to_bytes(8, "little"), content))
    return b"".join(part + masked_checksum(part).to_bytes(4, "little") for part in parts)


def _columnar(rows: list[dict[str, Any]]) -> dict[str, bytes]:
    import pyarrow
    import pyarrow.parquet

    texts = [row["text"] for row in rows]
    columns = {
        "text": texts,
        "id": list(range(len(rows))),
        "parts": [[text, "x"] for text in texts],
        "none": [None] * len(rows),
    }
    table = pyarrow.table({**columns, "kind": pyarrow.array(["a", "b"] * 6).dictionary_encode()})
    large = table.set_column(0, "text", pyarrow.array(texts, pyarrow.large_string()))
    files = {}
    for name, held in {"table": table, "large": large}.items():
        for sort, writer in {"arrow": pyarrow.ipc.new_file, "stream.arrow": pyarrow.ipc.new_stream}.items():
            sink = io.BytesIO()
            with writer(sink, held.schema) as out:
                out.write_table(held, max_chunksize=5)
            files[f"{name}.{sort}"] = sink.getvalue()
        for compression in ("none", "snappy", "zstd"):
            sink = io.BytesIO()
            pyarrow.parquet.write_table(held, sink, compression=compression, row_group_size=5)
            files[f"{name}-{compression}.parquet"] = sink.getvalue()
    return files


def _hdf5() -> bytes:
    import h5py
    import numpy

    held = io.BytesIO()
    with h5py.File(held, "w") as file:
        file["volumes"] = numpy.zeros((4, 8, 8), dtype="f4")
        file.create_dataset("chunked", data=numpy.arange(64), chunks=(8,), compression="gzip")
    return held.getvalue()


def _books(seeds: Seeds) -> None:
    from docx import Document
    from rfp.offers import ONE_JOB, everything_met, filled

    import ingest
    from ingest.reports.workbook.vendor_workbook import vendor_workbook

    plan = ingest.plan(ONE_JOB, samples=0)
    sent = vendor_workbook(plan)
    seeds.books = [sent, filled(sent, everything_met(plan), Path("filled.xlsx")).read_bytes()]
    template = Document()
    template.add_heading("The buyer's own text", 1)
    template.add_paragraph("{{performance}}")
    held = io.BytesIO()
    template.save(held)
    seeds.templates = [held.getvalue()]


def temporary_folders() -> str | None:
    """A folder in memory if there is one, so that thousands of small files cost nothing."""
    held = Path("/dev/shm")
    return str(held) if held.is_dir() and os.access(held, os.W_OK) and shutil.disk_usage(held).free > 2**28 else None
