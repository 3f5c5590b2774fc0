"""Questions of sizing that cannot be asked: one line, an exit code, and nothing on standard output."""

import pytest

#: command -> what is asked, the exit code, and what the line says
REFUSED = {
    "checkpoint": [
        ("llama3-405b --gpus 100 --tensor-parallel 8 --pipeline-parallel 16", 2, "multiple of tensor × pipeline = 8 × 16"),
        ("llama3-8b --optimizer adamx", 2, "did you mean 'adamw'"),
        ("llama3-8b --layout megatorn", 2, "did you mean 'megatron'"),
        ("llama3-8b --mode asnyc", 2, "did you mean 'async'"),
        ("llama3-8b --readers al", 2, "did you mean 'all'"),
        ("llama3-8b --precision bf61", 2, "did you mean 'bf16'"),
        ("llama3-8b --failures lama3", 2, "did you mean 'llama3'"),
        ("llama3-8 --gpus 8", 2, "may be llama3-8b,"),
        ("llama3-8b --gpus 0", 2, "--gpus: found 0"),
        ("llama3-8b --gpus -8", 2, "--gpus: found -8"),
        ("llama3-8b --gpus 8.5", 2, "whole number"),
        ("llama3-8b --gpus 8 --waste 0", 2, "--waste"),
        ("llama3-8b --gpus 8 --waste 2", 2, "--waste"),
        ("llama3-8b --gpus 8 --interval 0", 2, "--interval"),
        ("llama3-8b --gpus 8 --interval 5GB", 2, "--interval"),
        ("llama3-8b --gpus 8 --write-bandwidth -1", 2, "--write-bandwidth"),
        ("llama3-8b --gpus 8 --mtti 0", 2, "--mtti"),
        ("llama3-8b --gpus 8 --keep 0", 2, "--keep: found 0"),
        ("llama3-8b --gpus 8 --keep newest=3", 2, "--keep"),
        ("llama3-8b --gpus 8 --zero-stage 4", 2, "expected 0, 1, 2 or 3"),
        ("llama3-8b --gpus 8 --zero-stage x", 2, "--zero-stage"),
        ("llama3-8b --gpus 8 --expert-parallel 3", 2, "has no experts"),
        ("llama3-8b --gpus 64 --tensor-parallel 64", 2, "a divisor of the 32 heads"),
        ("llama3-8b --gpus 64 --pipeline-parallel 64", 2, "at most the 32 layers"),
        ("mixtral-8x7b --gpus 64 --expert-parallel 16", 2, "a divisor of the 8 experts"),
        ("llama3-8b --gpus 64 --waste 30%", 2, "up to 0.25"),
        ("--set parameters=8e9 --optimizer lora", 2, "trainable_parameters"),
        ("llama3-405b --gpus 16384 --interval 2h --waste 5%", 2, "found 2 h, expected less than 14.56 min"),
        ("nnunet-3d --gpus 8", 1, "parameters of nnunet-3d are not known"),
        ("--gpus 8", 2, "the model is missing"),
        ("llama3-8b --gpus 1e18", 2, "expected a whole number up to"),
        ("llama3-8b --set parameters=1e300", 2, "expected a number above 0 up to 1e+24"),
        ("llama3-8b --gpus 8 --keep last=3,every=10", 2, "--duration"),
        ("llama3-8b --set parameters=0", 2, "parameters"),
        ("llama3-8b --set paramters=5", 2, "did you mean 'parameters'"),
    ],
    "memory": [
        ("llama3-8b --recipe 17", 2, "expected one of"),
        ("llama3-8b --recipe zero16", 2, "did you mean 'zero-16'"),
        ("llama3-8b --optimizer adamx", 2, "did you mean 'adamw'"),
        ("llama3-8b --offload disk", 2, "expected one of none, cpu, nvme"),
        ("llama3-8b --offload nvme --zero-stage 1", 2, "found nvme at ZeRO stage 1, expected ZeRO stage 3"),
        ("llama3-8b --gpus 0", 2, "--gpus"),
        ("llama3-8b --gpus 10 --tensor-parallel 4", 2, "multiple of tensor × pipeline = 4"),
        ("llama3-8b --utilization 1.5", 2, "--utilization"),
        ("llama3-8b --zero-stage 5", 2, "expected 0, 1, 2 or 3"),
        ("llama3-8b --gpu h1000", 2, "did you mean"),
        ("llama3-8b --node dgx-h100 --gpu a100-80-sxm", 2, "has h100-sxm"),
        ("", 2, "the model is missing"),
    ],
    "model": [
        ("nothing-like-it", 2, ""),
        ("no/such/config.json", 1, ""),
        ("llama3-8b --precision bf17", 2, ""),
        ("llama3-8b --sequence-length 0", 2, ""),
        ("llama3-8b --sequence-length -5", 2, ""),
        ("llama3-8b --sequence-length many", 2, ""),
        ("", 2, ""),
    ],
    "offload": [
        ("llama3-8b --parameters disk", 2, "expected one of fill, gpu, cpu, nvme, storage"),
        ("llama3-8b --recipe zero16", 2, "did you mean 'zero-16'"),
        ("llama3-8b --units 4", 2, "without --storage"),
        ("llama3-8b --target 1", 2, "--target"),
        ("llama3-8b --batch 0", 2, "--batch"),
        ("llama3-8b --storage prot-rep3", 2, "is not known"),
        ("", 2, "the model is missing"),
        ("llama3-8b --optimizer-on-gpu every", 2, "--optimizer-on-gpu"),
        ("llama3-8b --optimizer-on-gpu every=1", 2, "--optimizer-on-gpu"),
        ("llama3-8b --optimizer-on-gpu every=2.5", 2, "--optimizer-on-gpu"),
        ("llama3-8b --optimizer-on-gpu best", 2, "--optimizer-on-gpu"),
        ("llama3-8b --optimizer-on-gpu every=x", 2, "--optimizer-on-gpu"),
        ("llama3-8b --prompt 512", 2, "found without --inference, expected with it"),
        ("llama3-8b --inference --recipe zero-16", 2, "found with --inference, expected without it"),
        ("llama3-8b --inference --kv disk", 2, "expected one of fill, gpu, cpu, nvme, storage"),
        ("llama3-8b --inference --weight-bits 0", 2, "--weight-bits"),
        ("llama3-8b --inference --weight-bits 64", 2, "--weight-bits"),
        ("llama3-8b --inference --generate 0", 2, "--generate"),
        ("llama3-8b --inference --turns 4", 2, "found without --users, expected with it"),
        ("llama3-8b --users 10", 2, "found without --inference, expected with it"),
        ("llama3-8b --inference --users 0", 2, "--users"),
        ("llama3-8b --inference --users 10 --hit 1.5", 2, "--hit"),
        ("llama3-8b --inference --users 10 --turns 1e9", 2, "--turns"),
        ("llama3-8b --inference --users 10 --hit absent.jsonl", 1, "absent.jsonl"),
    ],
}


@pytest.mark.parametrize(
    ("command", "words", "code", "said"), [(command, *row) for command, rows in REFUSED.items() for row in rows]
)
def test_what_cannot_be_asked_is_one_line(run, command, words, code, said):
    ran = run(command, *words.split())
    assert ran.code == code, ran.err
    assert said in ran.refusal
    assert ran.out == ""
