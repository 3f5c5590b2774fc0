"""Options and quantities of which some exclude, repeat or contradict each other, by what a command needs."""

PAIRS = {
    "bw --model resnet50 --gpu h100": """
        --samples-per-second 300; --achieved 35TFLOP/s; --efficiency 0.4; --basis measured; --basis peak; --protocol
        mlperf-storage; --sample-bytes 1MB; --encoding decoded; --utilization 0.5; --cache-hit 1; --cache-hit 0; --node
        dgx-a100; --gpus-per-node 3; --gpu b200,a100; --model cosmoflow; --scaling strong; --sequence-length 128;
        --bytes-per-token 4; --precision fp4; --flops-per-sample 1e9; --nodes 1..4; --set gpus=7; --set
        ingest_bandwidth_per_job=1; --set ingest_bandwidth_per_gpu=1e12; --set nodes=2; --set
        samples_per_second_per_gpu=5; --set sample_bytes=7; --set dataset_samples=1; --set gpus=8
    """,
    "checkpoint llama3-8b --gpus 64": """
        --tensor-parallel 3; --tensor-parallel 8; --pipeline-parallel 64; --zero-stage 0; --zero-stage 3; --layout
        megatron; --layout deepspeed; --layout safetensors; --mode sync; --mode async; --waste 0.01; --waste 0.9;
        --interval 1s; --interval 30d; --mtti 1min; --mtti 1y; --restart-time 1h; --keep 1; --keep last=2,every=7;
        --drain-fraction 1; --drain-time 1h; --write-bandwidth 1kB/s; --readers all; --write-bandwidth 1TB/s; --duration
        1s; --failures rsc-1; --set checkpoint_bytes=1; --set gpus=8
    """,
    "dataset --tokens 1T": """
        --samples 5; --sample-bytes 1MB; --corpus fineweb; --pipeline fineweb; --bytes-per-token 4; --copies 0; --copies
        3; --raw-bytes 1TB; --raw-bytes 1; --format webdataset; --shard-size 1; --shard-size 1PB; --set dataset_bytes=5;
        --set clean_bytes=1; --set raw_bytes=1; --set usable_bytes=1; --set dataset_files=0.5
    """,
    "memory llama3-8b": """
        --gpu h100; --gpus 1; --gpus 7; --zero-stage 3; --offload nvme; --offload none; --recipe fp8; --tensor-parallel
        7; --pipeline-parallel 999; --precision fp4; --optimizer sgd; --set parameters=1; --set model_state_bytes=1;
        --set model_state_bytes_per_gpu=1e15; --set gpus_to_hold=0.5
    """,
    "fit --storage all --capacity 1PB --read-bandwidth 1TB/s": """
        --write-bandwidth 1; --capacity 1; --read-bandwidth 1; --model cosmoflow; --gpu h100; --priority all; --require
        mandatory; --require every; --set usable_share=1; --set units=1; --client nfs-tcp; site.yaml; --protection 8+2;
        --nodes 4; --storage nfs-tcp; --no-spare; --sites 2
    """,
    "measure a.txt --quiet --tokenizer tokenizer.json --threads 1": """
        --exact; --samples; --seed 1; --seed 2; --tolerance 1e-9; --tolerance 1; --confidence 0.5; --strict; --resume
        t.ledger; --include *.md; --exclude *; --include *; --text-field x; --tokenizer a.txt; a.txt
    """,
    "plan site.yaml --samples 0": """
        --new; --schema; --check; --years 0; --years 30; --explain R-READ-01; --samples 5; --seed 1; --set
        jobs.universe.nodes=1..3; --set jobs.universe.nodes=9; --set storage.fill_limit=1e-9; site.yaml; --set
        clusters.main.count=0; --set jobs.universe.scaling=strong; --set jobs.universe.io_size=1
    """,
}
