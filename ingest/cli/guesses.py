"""What people type first and no command knows: names of other tools for its options, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from ingest.errors import expected_one_of

#: our option -> how trainers, launchers, engines and shells call it, without dashes and underscores
ELSEWHERE = {
    "tensor-parallel": "tp tpsize tpdegree tensorparallelsize tensormodelparallelsize",
    "pipeline-parallel": "pp ppsize pipelineparallelsize pipelinemodelparallelsize",
    "context-parallel": "cp cpsize contextparallelsize sequenceparallel",
    "expert-parallel": "ep epsize expertparallelsize expertmodelparallelsize",
    "sequence-length": "seqlen seqlength maxseqlen maxlength maxmodellen contextlength context ctx ctxsize",
    "micro-batch": "mbs batchsize microbatchsize perdevicetrainbatchsize trainmicrobatchsizepergpu bs",
    "batch": "batchsize bs batchsizeperdevice perdevicetrainbatchsize maxnumseqs",
    "zero-stage": "zero stage zerooptimization fsdp sharding shardingstrategy",
    "recompute": "gradientcheckpointing activationcheckpointing recomputegranularity recomputeactivations",
    "precision": "dtype datatype mixedprecision amp bf fp quantization",
    "weight-bits": "bits quantization loadinbit",
    "gpus": "numgpus ngpus ngpu gpucount worldsize accelerators numaccelerators devices",
    "gpus-per-node": "nprocpernode ngpuspernode gpuspernodes ntaskspernode ppn",
    "nodes": "numnodes nnodes nodecount hosts numhosts",
    "node": "nodetype server host machine instance instancetype system",
    "gpu": "gputype gpumodel gpuname accelerator acceleratortype device hardware",
    "model": "modelname modelid modelpath modelnameorpath arch architecture network config",
    "storage": "filesystem backend vendor",
    "workers": "numworkers dataworkers loaderworkers readthreads numthreads",
    "prefetch": "prefetchfactor prefetchsize buffersize",
    "epochs": "numepochs numtrainepochs maxepochs",
    "interval": "saveinterval checkpointinterval saveevery savesteps ckptinterval checkpointevery",
    "keep": "savetotallimit keepn keeplast numtokeep savetopk retention",
    "mtti": "mtbf mttf failurerate",
    "efficiency": "mfu",
    "price-gpu-hour": "price gpuprice cost pricepergpuhour gpuhourprice",
    "read-bandwidth": "read readbw bandwidth bw throughput",
    "write-bandwidth": "write writebw checkpointbandwidth",
    "sample-bytes": "samplesize recordlength filesize bytespersample",
    "samples": "numsamples nsamples numfiles",
    "tokens": "numtokens ntokens traintokens totaltokens",
    "bytes-per-token": "tokenbytes",
    "prompt": "inputlen inputlength prompttokens promptlength",
    "generate": "outputlen outputlength maxtokens maxnewtokens generatetokens",
    "dimensions": "dim dims embeddingdim vectorsize",
    "vectors": "n numvectors nvectors",
    "top-k": "k topk",
    "users": "concurrency clients maxconcurrency",
    "duration": "time walltime hours days",
    "years": "year horizon",
    "output": "out outfile outputfile outdir outputdir save to",
    "verbose": "debug details all",
}
#: what leads to a command -> how people call it who look for it
COMMANDS_ELSEWHERE = {
    "bw": "bandwidth estimate throughput size sizing calc calculate compute gpu job",
    "catalog list models": "list models ls names",
    "catalog list gpus": "cards accelerators gpus",
    "catalog show": "show info describe",
    "plan --new": "new init create start",
    "plan": "requirements requirement",
    "fit": "storage systems recommend select choose",
    "checkpoint": "ckpt checkpoints checkpointing",
    "memory": "vram mem fits",
    "train": "training hours cost flops",
    "offload": "inference serve serving kv kvcache",
    "measure": "tokens tokenize tokenise count corpus",
    "dataset": "data footprint datasets",
    "report": "rfp tender export docx xlsx",
    "accept": "test tests acceptance fio",
    "response": "offer offers compare award",
    "observe": "profile monitor trace watch",
    "measure-storage": "bench benchmark",
    "vectors": "vector index rag",
    "rl": "rlhf grpo ppo posttraining",
    "mcp": "serve-mcp server agent",
    "page": "web html gui ui",
    "explain": "why derive derivation source sources",
    "validate": "accuracy check verify",
}
_FORMS = ("json", "csv", "markdown", "table")


def instead_of(option: str, known: Collection[str]) -> str:
    """Return the line for an option that a command does not have; `known` are those that it has.

    >>> instead_of("--tp", ["--gpus", "--tensor-parallel"])
    "no such option '--tp'; did you mean '--tensor-parallel'?"
    >>> instead_of("--json", ["--format", "--set"])
    "no such option '--json'; did you mean '--format json'?"
    >>> instead_of("--bf16", ["--precision"])
    "no such option '--bf16'; did you mean '--precision bf16'?"
    """
    written = re.sub("[-_]", "", option).lower()
    word = {"md": "markdown"}.get(written, written)
    if word in _FORMS and "--format" in known:
        return _line(option, f"--format {word}")
    if re.fullmatch("(bf|fp|tf)[0-9]+", word) and "--precision" in known:
        return _line(option, f"--precision {word}")
    if option.replace("_", "-").lower() in known:
        return _line(option, option.replace("_", "-").lower())
    meant = (f"--{ours}" for ours, theirs in ELSEWHERE.items() if re.sub("[0-9]", "", written) in theirs.split())
    found = next((one for one in meant if one in known), "")
    bare = {one.removeprefix("--"): one for one in known}  # two dashes in common make no likeness
    close = [found] if found else [bare[one] for one in get_close_matches(option.removeprefix("--"), bare, cutoff=0.66)]
    return _line(option, "' or '".join(close)) if close else f"no such option '{option}'"


def command_instead_of(word: str, known: Collection[str]) -> str:
    """Return the line for a command that there is not; `known` are those that there are.

    >>> command_instead_of("bandwidth", ["bw"])
    "no such command 'bandwidth'; did you mean 'ingest bw'?"
    >>> command_instead_of("chekpoint", ["bw", "checkpoint"])
    "no such command 'chekpoint', expected one of bw, checkpoint; did you mean 'checkpoint'?"
    """
    meant = [ours for ours, theirs in COMMANDS_ELSEWHERE.items() if re.sub("[-_]", "", word).lower() in theirs.split()]
    if meant:
        return f"no such command '{word}'; did you mean 'ingest {meant[0]}'?"
    return f"no such command '{word}', {expected_one_of(word, known)}"


def _line(option: str, meant: str) -> str:
    return f"no such option '{option}'; did you mean '{meant}'?"
