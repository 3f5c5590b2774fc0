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
    "train llama3-8b --tokens 1T --gpus 64": """
        --samples 5; --tokens 1; --tokens 1e30; --gpu b200; --gpu h100; --node dgx-a100; --efficiency 0.4; --efficiency 1;
        --achieved 35TFLOP/s; --samples-per-second 300; --basis peak; --protocol mlperf-storage; --stall 0; --stall 0.99;
        --stall 1; --pue 1; --pue 0.5; --price-gpu-hour 2; --electricity-price 0.1/kWh; --carbon 0.4; --wue 1.8; --mtti 1min;
        --mtti 1y; --interval 1s; --waste 0.9; --restart-time 1h; --mode sync; --write-bandwidth 1kB/s; --zero-stage 3; --power
        1W; --host-power 0; --storage-power 1MW; --gpus 1; --gpus 1e9; --set gpus=7; --set mean_time_to_interrupt=1
    """,
    "goodput llama3-8b --gpus 64 --runs 5": """
        --duration 1s; --duration 1y; --runs 1; --seed 1; --mixture 0.5=1h,0.5=1d; --mixture 1=1s; --mixture 0.5=1h; --mtti 1h;
        --mtti 1s; --spares 0; --spares 9; --repair-time 1s; --repair-time 1y; --near-recovery 0.8; --near-recovery 1;
        --near-restore-time 1s; --restore-bandwidth 1kB/s; --shared-reads 1TB/s; --write-bandwidth 1kB/s; --write-bandwidth
        1TB/s; --interval 1s; --interval 30d; --waste 0.01; --mode sync; --restart-time 1h; --reschedule-time 1d;
        --persistent-every 9; --keep last=2,every=7; --set checkpoint_bytes=1; --failures rsc-1
    """,
    "offload llama3-8b --gpus 8": """
        --parameters nvme; --parameters gpu; --gradients cpu; --gradients storage; --optimizer-states nvme; --activations cpu;
        --activations nvme; --storage nfs-tcp; --units 1; --units 9; --batch 0.5; --batch 64; --sequence-length 1;
        --sequence-length 1048576; --efficiency 1; --target 1; --no-recompute; --no-overlap; --optimizer-on-gpu auto;
        --optimizer-on-gpu every=3; --inference; --prompt 1; --prompt 1e6; --generate 0; --generate 9; --weight-bits 4; --kv
        cpu; --kv nvme; --users 100; --users 1e9; --turns 3; --turn-time 1s; --hit 0.9; --hit a.txt; --first-token-time 1s;
        --recipe bf16-only; --node dgx-a100; --gpu mi300x; --set parameters=1
    """,
    "feed --model cosmoflow --gpu h100 --steps 100": """
        --model llama3-8b; --samples-per-second 300; --sample-bytes 1MB; --batch 1; --batch 1e6; --loader pytorch-iterable;
        --loader megatron; --loader dali; --workers 0; --workers 64; --prefetch 1; --latency 1ms; --latency 10s; --latency-cv 0;
        --latency-cv 9; --read-bandwidth 1kB/s; --read-bandwidth 1TB/s; --decode-time 1ms; --cores 1; --cache lru; --cache
        pinned; --cache-memory 1; --cache-memory 1TB; --cache-hit 1; --cache-hit 0; --epochs 3; --shuffle buffer=1; --shuffle
        block=9; --tensor-parallel 3; --pipeline-parallel 2; --context-parallel 2; --utilization 0.5; --utilization 1; --steps
        1; --seed 2; --nodes 3; --nodes 1e6; --bytes-per-token 4; --set nodes=2
    """,
    "observe megatron.log": """
        --gpus 8; --gpus 1; --samples-per-step 1; --samples-per-step 4096; --tokens-per-sample 1; --real 900; --real 1e-9;
        --synthetic 1000; --synthetic megatron.log; --path .; --bundle; megatron.log; observation.json; a.txt
    """,
    "calibrate observation.json --model cosmoflow --gpu h100": """
        --nodes 2; --nodes 1e6; --basis measured; --basis peak; --protocol mlperf-storage; --encoding decoded; --precision fp4;
        --tolerance 0; --tolerance 1e9; --model llama3-8b; --gpu b200; -o mine; observation.json; a.txt
    """,
    "model llama3-8b": """
        --sequence-length 1; --sequence-length 1048576; --precision fp4; --precision fp32; --strict; --set parameters=1; --set
        parameters=1e15; --set sequence_length=7; --set layers=0.5; --catalogs mine; --catalogs a.txt; mixtral-8x7b; -q; -v
    """,
    "sweep nodes=1..4 --model cosmoflow --gpu h100": """
        nodes=1,2; nodes=8; gpus=1..4; gpus_per_node=1..8*2; sample_bytes=1MB; sample_bytes=1,2; --nodes 1..3; --nodes 2; --set
        nodes=2; --set gpus=7; --set sample_bytes=1; --model resnet50,unet3d; --gpu a100,b200; --basis peak; --scaling strong;
        --scaling weak; --samples-per-second 300; --utilization 0.5; --cache-hit 1; --node dgx-a100; -o out.parquet; -o out.xlsx
    """,
    "explain ingest_bandwidth_per_job --model cosmoflow --gpu h100": """
        --nodes 1,2; --nodes 8; --gpus 7; --gpus-per-node 3; --gpu b200,a100; --model resnet50; --basis peak; --basis measured;
        --protocol mlperf-storage; --samples-per-second 300; --achieved 35TFLOP/s; --set ingest_bandwidth_per_job=1; --set
        ingest_bandwidth_per_gpu=1; --set nodes=2; --set sample_bytes=7; --cache-hit 1; --scaling strong; --encoding decoded
    """,
    "diff plan.json plan.json": "plan.json; a.txt; site.yaml; -o plan.json; -o out.xlsx; -o out.md; -q; -v; --format csv",
    "report site.yaml": """
        -o out.xlsx; -o out.docx; -o out.html; -o out.md; -o out.json; -o site.yaml; -o a/b.docx; --for-vendor; --derivations
        out.xlsx; --derivations d.xlsx; --template a.txt; --template sent.xlsx; --storage all; --storage nfs-tcp; --years 0;
        --years 30; --seed 1; --seed 2; --set jobs.universe.nodes=1..3; --set clusters.main.count=0; site.yaml; plan.json; -q
    """,
    "response filled.xlsx": """
        filled.xlsx; sent.xlsx; --sent sent.xlsx; --sent filled.xlsx; --sent plan.json; --sent site.yaml; --optimized;
        --confirmed R-READ-01; --confirmed R-NONE-01; --weights a.txt; --weights measured.json; -o out.docx; -o out.html; -o
        out.xlsx; -o filled.xlsx; -q; -v
    """,
    "accept plan.json -o tests": """
        --tool fio; --tool ior; --tool dlio; --tool none; --scale 1node; --scale full; --scale 0.5; --repeats 1; --repeats 99;
        --allowed-deviation 0; --allowed-deviation 0.5; --most-data 1; --most-data 1PB; --client-memory 1; --client-memory 1EB;
        --server-cache 1PB; --hosts a.txt; --from-observation observation.json; --times 0.1; --times 2; --force; -o .; -o
        results; site.yaml; plan.json
    """,
    "verdict tests results": """
        --partial; --degraded results; --degraded tests; --rebuild results; --rebuild nowhere; results; tests; -o out.xlsx; -o
        tests/tests.json; -q; -v
    """,
    "catalog show h100": "cosmoflow; h100; nfs-tcp; nowhere; --catalogs mine; --catalogs a.txt; --catalogs .; -o out.md; -v",
    "catalog compare nfs-tcp": "nfs-tcp; ddn-ai400x2; h100; --catalogs mine; --catalogs nowhere; -o out.csv; -o out.xlsx; -v",
}
