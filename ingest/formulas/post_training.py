"""Reinforcement learning as a load of storage: versions of weights that a trainer publishes and rollout hosts pull, the
chain that a host reads when it joins, rollout traces, sandboxes."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities
from ingest.formulas.site_totals import DRAWN, MODEL, totals

input_quantities(__file__)

#: Own measurement of the encodings; `tests/sizing/weight_versions.py` repeats it.
MEASURED = "ingest-weight-versions"


# The rhythm
computed_quantity("rollout_hosts_of_replicas", "ceil(rollout_replicas * replica_nodes)", "node",
    "Hosts of the engines that generate rollouts.", above=False, whole=True, of="rollout_hosts", when="rollout_replicas_stated",
    example="rollout_hosts_of_replicas(12, 2) -> 24")  # fmt: skip
computed_quantity("rollout_readers", "rollout_hosts / single_node", "1", "Readers of a version: one for each rollout host.",
    above=False, whole=True)  # fmt: skip
computed_quantity("rl_step_seconds", "step_rollouts * rollout_tokens / (rollout_hosts * rollout_token_rate)", "s",
    "Time of one step, where generation sets it.", label="time of one step")  # fmt: skip
computed_quantity("version_seconds", "rl_step_seconds * maximum(publish_every, 1)", "s",
    "Time from one published version to the next.", label="time between versions",
    example="version_seconds(60, 4), version_seconds(60, 0) -> (240, 60)")  # fmt: skip
computed_quantity("versions_published", "where(rollout_readers * publish_every > 0, 1, 0)", "1",
    "1 where versions travel over storage, 0 where none is published or no host pulls.", above=False, high=1, whole=True,
    example="versions_published(48, 1), versions_published(0, 1), versions_published(48, 0) -> (1, 0, 0)")  # fmt: skip
computed_quantity("versions_per_day", "versions_published * seconds_per_day / version_seconds", "1",
    "Versions that are published in a day.", above=False)  # fmt: skip

# The bytes of a version
computed_quantity("published_parameters", "parameters * 1", "parameter",
    "Parameters of a full version: all, or the adapters alone where training changes no others.")  # fmt: skip
alternative("published_parameters", "trainable_parameters", when="adapters_published")
computed_quantity("published_weights_bytes", "published_parameters * published_bytes_per_parameter", "B",
    "Bytes of a full version of the weights.", label="full version")  # fmt: skip
computed_quantity("share_counted", "minimum(maximum(changed_share, 1e-9), 0.999999999)", "1",
    "Share of the parameters that change, kept off 0 and 1 for its logarithm.", high=1,
    example="share_counted(0), share_counted(0.02) -> (1e-09, 0.02)")  # fmt: skip
computed_quantity("position_entropy_bytes",
    "(log(1 / share_counted) + (1 / share_counted - 1) * log(1 / maximum(1 - share_counted, 1e-9))) / log(2) / 8 * single_byte",
    "B/parameter", "Least bytes that the position of one change takes, where any parameter is as likely to change.",
    source="shannon1948", where="entropy of independent positions, H(p) ÷ p",
    example="round(position_entropy_bytes(0.02, 1), 3) -> 0.884")  # fmt: skip
computed_quantity("index_value_bytes", "position_bytes + published_bytes_per_parameter", "B/parameter",
    "Bytes of one change as a position and a value.", source="slime-delta", where="indices: 4 B per position",
    of="change_bytes", when="index_value")  # fmt: skip
computed_quantity("gap_value_bytes", "gap_bytes + published_bytes_per_parameter", "B/parameter",
    "Bytes of one change as the gap to the change before, in 16 bits, and a value.", source="slime-delta",
    where="deltas: 16-bit gaps", of="change_bytes", when="gap_value")  # fmt: skip
computed_quantity("gap_zstd_bytes", "1.2 * position_entropy_bytes + published_bytes_per_parameter", "B/parameter",
    "Bytes of one change as a gap under zstd and a value.", source=MEASURED, where="gaps: 1.2 times their entropy",
    of="change_bytes", when="gap_zstd", example="round(gap_zstd_bytes(0.884, 2), 2) -> 3.06")  # fmt: skip
computed_quantity("sparse_zstd_bytes", "1.2 * position_entropy_bytes + 0.825 * published_bytes_per_parameter", "B/parameter",
    "Bytes of one change where zstd packs gaps and values.", source=MEASURED, where="values: 0.825 of their width",
    of="change_bytes", when="sparse_zstd", example="round(sparse_zstd_bytes(0.884, 2), 2) -> 2.71")  # fmt: skip
computed_quantity("bitmask_bytes", "single_byte / share_counted / 8 + published_bytes_per_parameter", "B/parameter",
    "Bytes of one change where a bit tells of each parameter whether it changed.", source="slime-delta",
    where="sparse_bitmask", of="change_bytes", when="bitmask", example="bitmask_bytes(1, 0.03125, 2) -> 6.0")  # fmt: skip
computed_quantity("xor_zstd_bytes",
    "maximum(3.02 - 4.8 * share_counted ** 0.5 + 2.82 * share_counted, 1.563 * log(1 / share_counted) - 7.97)"
    " * single_byte", "B/parameter",
    "Bytes of one change of 16-bit weights where zstd packs the exclusive or of two versions.", source=MEASURED,
    where="least squares over shares of 0.01 % to 25 %", of="change_bytes", when="xor_zstd",
    example="round(xor_zstd_bytes(0.02, 1), 2), round(xor_zstd_bytes(0.0003, 1), 2) -> (2.4, 4.71)")  # fmt: skip
computed_quantity("delta_bytes",
    "minimum(published_parameters * changed_share * change_bytes * codec_factor, published_weights_bytes)", "B",
    "Bytes of a version that holds only what changed; never more than a full one.", above=False, label="delta",
    example="delta_bytes(8.19e9, 0.02, 6, 1, 16.38e9) -> 982800000.0")  # fmt: skip
computed_quantity("whole_version_bytes", "published_weights_bytes * versions_published", "B",
    "Bytes of one publication in full.", above=False)  # fmt: skip
computed_quantity("delta_version_bytes", "delta_bytes * versions_published", "B", "Bytes of one publication as a delta.",
    above=False, of="publish_bytes", when="deltas_published")  # fmt: skip
computed_quantity("publish_bytes", "whole_version_bytes * 1", "B", "Bytes of one publication between two anchors.",
    above=False, label="bytes of one version")  # fmt: skip

# What storage must do in time
computed_quantity("publish_seconds", "version_seconds / 2", "s", "Time in which a version is written: half of that between "
    "two versions, the other half is for reading it.", label="time to write a version")  # fmt: skip
computed_quantity("pull_seconds", "version_seconds / 2", "s", "Time in which all hosts read a version.",
    label="time to read a version")  # fmt: skip
alternative("pull_seconds", "pause_seconds", when="pulled_in_pause")
computed_quantity("publish_write_bandwidth", "publish_bytes / publish_seconds", "B/s", "Writes of a version in its time.",
    above=False, label="writes of a version")  # fmt: skip
computed_quantity("pull_read_bandwidth", "rollout_readers * publish_bytes / pull_seconds", "B/s",
    "Reads of a version by all hosts in its time.", above=False, label="reads of a version by all hosts")  # fmt: skip
computed_quantity("anchor_bytes", "published_weights_bytes * versions_published", "B", "Bytes of an anchor.",
    above=False)  # fmt: skip
computed_quantity("no_anchor_bytes", "published_weights_bytes * 0", "B", "No anchor lies between full versions.",
    above=False, of="anchor_bytes", when="full_published")  # fmt: skip
computed_quantity("anchor_seconds", "version_seconds * 1", "s", "Time in which an anchor is written, and as much in which all "
    "hosts read it: that between two versions.", label="time to write an anchor and to read it")  # fmt: skip
computed_quantity("anchor_write_bandwidth", "anchor_bytes / anchor_seconds", "B/s", "Writes of an anchor in its time.",
    above=False, label="writes of an anchor")  # fmt: skip
computed_quantity("anchor_read_bandwidth", "rollout_readers * anchor_bytes / anchor_seconds", "B/s",
    "Reads of an anchor by all hosts in its time.", above=False, label="reads of an anchor by all hosts")  # fmt: skip
computed_quantity("chain_bytes", "(anchor_every - 1) * delta_bytes", "B", "Deltas since the anchor, just before the next one.",
    above=False, example="chain_bytes(25, 0.33e9) -> 7920000000.0")  # fmt: skip
computed_quantity("chain_of_full_versions", "published_weights_bytes * 0", "B", "No chain follows a full version.",
    above=False, of="chain_bytes", when="full_published")  # fmt: skip
computed_quantity("join_read_bytes", "(published_weights_bytes + chain_bytes) * versions_published", "B",
    "Bytes that a host reads when it joins: the anchor and, at most, the whole chain.", above=False,
    label="bytes that a host reads to join", example="join_read_bytes(16.38e9, 7.92e9, 1) -> 24300000000.0")  # fmt: skip
computed_quantity("join_read_bandwidth", "rollout_readers * join_read_bytes / join_seconds", "B/s",
    "Reads of anchor and chain where all hosts join at once.", above=False,
    label="reads where all hosts join at once")  # fmt: skip
computed_quantity("version_write_bandwidth", "maximum(publish_write_bandwidth, anchor_write_bandwidth)", "B/s",
    "Writes of versions that storage must take: the larger of version and anchor.", above=False,
    label="write bandwidth for versions")  # fmt: skip
computed_quantity("version_read_bandwidth", "maximum(maximum(pull_read_bandwidth, anchor_read_bandwidth), join_read_bandwidth)",
    "B/s", "Reads of versions that storage must deliver: the largest of version, anchor and hosts that join.", above=False,
    label="read bandwidth for versions", example="version_read_bandwidth(2e9, 13e9, 3e9) -> 13000000000.0")  # fmt: skip

# What lies on storage, and what is written in a day
computed_quantity("versions_stored", "weight_versions_kept + anchor_every - 1", "1",
    "Versions on storage: the newest ones, and those back to the anchor of the oldest.", whole=True,
    example="versions_stored(2, 25) -> 26")  # fmt: skip
computed_quantity("anchors_stored", "ceil(versions_stored / anchor_every)", "1", "Anchors among the versions on storage.",
    whole=True, example="anchors_stored(26, 25) -> 2")  # fmt: skip
computed_quantity("weights_retained_bytes",
    "(anchors_stored * published_weights_bytes + (versions_stored - anchors_stored) * delta_bytes) * versions_published", "B",
    "Weights on storage: anchors and deltas.", above=False, label="versions on storage",
    example="weights_retained_bytes(2, 16e9, 26, 0.33e9, 1) -> 39920000000.0")  # fmt: skip
computed_quantity("full_versions_retained_bytes", "weight_versions_kept * published_weights_bytes * versions_published", "B",
    "Weights on storage where each version is full.", above=False, of="weights_retained_bytes",
    when="full_published")  # fmt: skip
computed_quantity("full_version_files", "ceil(published_weights_bytes / shard_bytes_max) + index_files", "file",
    "Files of a full version: shards and their index.", source="sglang-pull-weights", where="weight_vN: a checkpoint folder",
    whole=True, example="full_version_files(16.38e9, 5e9, 1) -> 5")  # fmt: skip
computed_quantity("delta_files", "ceil(delta_bytes / shard_bytes_max) + index_files", "file",
    "Files of a delta: shards and their index.", source="sglang-pull-weights", where="weight_vN: a checkpoint folder",
    whole=True, example="delta_files(0.33e9, 5e9, 1) -> 2")  # fmt: skip
computed_quantity("weight_files",
    "(anchors_stored * full_version_files + (versions_stored - anchors_stored) * delta_files) * versions_published", "file",
    "Files of the versions on storage.", above=False, whole=True, label="files of the versions on storage",
    example="weight_files(2, 5, 26, 2, 1) -> 58")  # fmt: skip
computed_quantity("full_weight_files", "weight_versions_kept * full_version_files * versions_published", "file",
    "Files of the versions on storage where each is full.", above=False, whole=True, of="weight_files",
    when="full_published")  # fmt: skip
computed_quantity("mean_version_bytes", "(published_weights_bytes + chain_bytes) / anchor_every", "B",
    "Mean bytes of a version, anchors and deltas together.", example="mean_version_bytes(100, 48, 25) -> 5.92")  # fmt: skip
computed_quantity("mean_of_full_versions", "published_weights_bytes * 1", "B", "Mean bytes of a full version.",
    of="mean_version_bytes", when="full_published")  # fmt: skip
computed_quantity("weights_written_per_day", "mean_version_bytes * versions_per_day", "B",
    "Weights that the trainer writes in a day.", above=False, label="weights written per day")  # fmt: skip
computed_quantity("weights_read_per_day", "rollout_readers * mean_version_bytes * versions_per_day", "B",
    "Weights that all hosts pull in a day.", above=False, label="weights read per day")  # fmt: skip
computed_quantity("least_anchor_spacing",
    "maximum((2 * versions_per_day * maximum(published_weights_bytes - delta_bytes, 0)"
    " / (maximum(rollout_readers * host_joins_per_day, 1e-9) * maximum(delta_bytes, published_weights_bytes * 1e-9)))"
    " ** 0.5, 1)", "1",
    "Versions from anchor to anchor at which the bytes written as anchors and those read as chains by joining hosts are least.",
    source="definition", where="least of writes and reads of joins: P·(F − D)/A + J·A·D/2",
    label="anchor spacing of least bytes",
    example="round(least_anchor_spacing(1440, 16.38e9, 0.33e9, 48, 1)) -> 54")  # fmt: skip

# A step
computed_quantity("version_write_seconds", "publish_seconds * 1", "s", "Time that writing a version takes.")
computed_quantity("version_write_seconds_at_bandwidth", "publish_bytes / storage_write_bandwidth", "s",
    "Time that writing a version takes at the bandwidth of the storage.", above=False, of="version_write_seconds",
    when="write_bandwidth_known")  # fmt: skip
computed_quantity("version_read_seconds", "pull_seconds * 1", "s", "Time that reading a version takes.")
computed_quantity("version_read_seconds_at_bandwidth", "rollout_readers * publish_bytes / storage_read_bandwidth", "s",
    "Time that reading a version takes at the bandwidth of the storage.", above=False, of="version_read_seconds",
    when="read_bandwidth_known")  # fmt: skip
computed_quantity("sync_seconds", "(version_write_seconds + version_read_seconds) * versions_published", "s",
    "Time from the end of a step until all hosts have read its version over storage.", above=False,
    label="time of a synchronization", example="sync_seconds(30, 10, 1) -> 40")  # fmt: skip
computed_quantity("sync_share", "sync_seconds / version_seconds", "1",
    "Synchronization over storage, as a share of the time between two versions; above 1 the hosts fall behind.",
    above=False, label="share of synchronization over storage")  # fmt: skip
computed_quantity("network_sync_share",
    "published_weights_bytes * versions_published / (broadcast_bandwidth * version_seconds)", "1",
    "Broadcast of full weights over the network instead, as a share of the time between two versions.", above=False,
    label="share of synchronization over the network")  # fmt: skip
computed_quantity("host_version_read_bandwidth", "version_read_bandwidth / maximum(rollout_hosts, single_node)", "B/s/node",
    "Reads of versions that one rollout host must draw, its share of those of all hosts.", above=False,
    label="reads of versions per rollout host", example="host_version_read_bandwidth(9e9, 3, 1) -> 3000000000.0")  # fmt: skip
computed_quantity("read_ahead_bandwidth", "rollout_readers * publish_bytes / (version_seconds / 2)", "B/s",
    "Reads of a version by all hosts in half of the time between versions, onto their NVMe, from which they load it in the "
    "pause.", above=False, label="reads ahead of the pause onto local NVMe",
    example="read_ahead_bandwidth(48, 1e9, 60) -> 1600000000.0")  # fmt: skip
computed_quantity("reload_bandwidth_per_host", "published_weights_bytes * versions_published / pause_seconds / single_node",
    "B/s/node", "Reads of the weights from the NVMe of a host within the pause, where that is the second hop.", above=False,
    label="reads from local NVMe in the pause")  # fmt: skip
computed_quantity("rewritten_page_share",
    "1 - maximum(1 - share_counted, 1e-9) ** (page_bytes / published_bytes_per_parameter / single_parameter)", "1",
    "Share of the pages of a local copy that a delta changes.", high=1, source=MEASURED, where="changes are scattered",
    needs="share_counted page_bytes published_bytes_per_parameter single_parameter",
    example="round(rewritten_page_share(0.02, 4096, 2, 1), 6), round(rewritten_page_share(0.0001, 4096, 2, 1), 2)"
        " -> (1.0, 0.19)")  # fmt: skip
computed_quantity("local_rewrite_bytes", "rewritten_page_share * published_weights_bytes * versions_published", "B",
    "Bytes that a host writes to its NVMe as it applies a version in place.", above=False,
    label="writes to local NVMe per version")  # fmt: skip

# An object store answers in requests
computed_quantity("version_requests", "ceil(publish_bytes / part_bytes) * rollout_readers", "1",
    "Requests with which all hosts read a version.", above=False, label="requests of all hosts",
    example="version_requests(0.33e9, 8_388_608, 48) -> 1920")  # fmt: skip
computed_quantity("version_requests_per_day", "version_requests * versions_per_day", "1", "Requests for versions in a day.",
    above=False, label="requests per day")  # fmt: skip
computed_quantity("version_latency_seconds", "ceil(ceil(publish_bytes / part_bytes) / open_requests) * part_latency", "s",
    "Time that the latency of the requests for a version takes on a host, beside the transfer.", above=False,
    label="time of latency on a host", example="version_latency_seconds(0.33e9, 8_388_608, 32, 0.15) -> 0.3")  # fmt: skip
computed_quantity("version_latency_share", "version_latency_seconds / pull_seconds", "1",
    "That latency, as a share of the time in which all hosts read a version; above 1 no bandwidth suffices.", above=False,
    label="share of the time to read")  # fmt: skip

# Traces
computed_quantity("trace_token_bytes",
    "traced_id_bytes + traced_logprob_bytes + traced_text_bytes + traced_routing_bytes + traced_top_bytes", "B/token",
    "Bytes of a trace per token.", above=False, label="trace per token",
    example="trace_token_bytes(4, 4, 4, 0, 0) -> 12")  # fmt: skip
computed_quantity("trace_bytes_per_step", "step_rollouts * (rollout_tokens * trace_token_bytes + rollout_record_bytes)", "B",
    "Traces of one step.", above=False, label="traces per step",
    example="trace_bytes_per_step(1024, 8000, 12, 2000) -> 100352000")  # fmt: skip
computed_quantity("trace_bytes_per_day", "trace_bytes_per_step * seconds_per_day / rl_step_seconds", "B",
    "Traces that are written in a day.", above=False, label="traces per day")  # fmt: skip
computed_quantity("trace_write_bandwidth", "trace_bytes_per_step / rl_step_seconds", "B/s",
    "Writes of traces, spread over the step.", above=False, label="writes of traces")  # fmt: skip
computed_quantity("traces_retained_bytes", "trace_bytes_per_day * trace_retention_seconds / seconds_per_day", "B",
    "Traces on storage.", above=False, label="traces on storage")  # fmt: skip

# Sandboxes
computed_quantity("sandbox_read_bytes", "sandbox_image_bytes * sandbox_hosts / single_node", "B",
    "Images that cold hosts read.", above=False)  # fmt: skip
computed_quantity("sandbox_read_bandwidth", "sandbox_read_bytes / sandbox_seconds", "B/s",
    "Reads of images by cold hosts in their time.", above=False, label="reads of sandbox images")  # fmt: skip
computed_quantity("sandbox_stored_bytes", "sandbox_image_bytes * sandbox_images", "B", "Images on storage.",
    above=False)  # fmt: skip

# States
computed_quantity("algorithm_checkpoint_bytes", "checkpoint_bytes * trained_models", "B",
    "Checkpoint of all models that training changes.", label="checkpoint of all trained models")  # fmt: skip
computed_quantity("algorithm_state_bytes",
    "trained_models * (checkpoint_weights_bytes + checkpoint_optimizer_bytes)"
    " + frozen_models * parameters * weight_bytes_per_parameter", "B",
    "States of all models between steps: weights and optimizer of those that change, weights of the others, no gradients.",
    label="states of all models without gradients",
    example="algorithm_state_bytes(2, 16e9, 96e9, 1, 8e9, 2) -> 240000000000.0")  # fmt: skip
computed_quantity("rl_retained_bytes",
    "weights_retained_bytes + traces_retained_bytes + sandbox_stored_bytes + algorithm_retained_bytes", "B",
    "All that a job of reinforcement learning keeps on storage.", above=False, label="bytes on storage",
    example="rl_retained_bytes(40e9, 12e12, 0, 300e9) -> 12340000000000.0")  # fmt: skip
computed_quantity("algorithm_retained_bytes", "checkpoint_retained_bytes * trained_models", "B",
    "Checkpoints on storage of all models that training changes.")  # fmt: skip

# A site: each load is the smaller of what the job needs and what its nodes draw
computed_quantity("job_publish_bandwidth",
    "minimum(maximum(publish_write_bandwidth, anchor_write_bandwidth) * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Writes of versions by the trainers of all concurrent runs of a job, the larger of version and anchor.", source=MODEL,
    where=DRAWN, above=False, label="writes of versions of the job",
    example="job_publish_bandwidth(0.5e9, 0.3e9, 2, 72e9) -> 1000000000.0")  # fmt: skip
computed_quantity("job_pull_bandwidth",
    "minimum(maximum(pull_read_bandwidth, anchor_read_bandwidth) * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Reads of versions by the rollout hosts of all concurrent runs of a job, the larger of version and anchor.", source=MODEL,
    where=DRAWN, above=False, label="reads of versions of the job",
    example="job_pull_bandwidth(79e9, 13e9, 1, 72e9) -> 72000000000.0")  # fmt: skip
computed_quantity("job_join_bandwidth", "minimum(join_read_bandwidth * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Reads of anchors and chains where all rollout hosts of a job join at once.", source=MODEL, where=DRAWN, above=False,
    label="reads of joining hosts of the job", example="job_join_bandwidth(9e9, 1, 72e9) -> 9000000000.0")  # fmt: skip
computed_quantity("job_trace_bandwidth", "minimum(trace_write_bandwidth * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Writes of rollout traces by all concurrent runs of a job.", source=MODEL, where=DRAWN, above=False,
    label="writes of traces of the job", example="job_trace_bandwidth(5e6, 2, 72e9) -> 10000000.0")  # fmt: skip
computed_quantity("weights_of_runs_bytes", "weights_retained_bytes * concurrent_runs", "B",
    "Versions of the weights that all runs of a job keep.", above=False, label="versions of weights of a job")  # fmt: skip
computed_quantity("traces_of_runs_bytes", "traces_retained_bytes * concurrent_runs", "B",
    "Traces that all runs of a job keep.", above=False, label="rollout traces of a job")  # fmt: skip
computed_quantity("job_versions_per_day", "weights_written_per_day * concurrent_runs * share_of_time", "B",
    "Bytes of versions that all runs of a job write in a day.", above=False, label="versions written per day")  # fmt: skip
computed_quantity("job_traces_per_day", "trace_bytes_per_day * concurrent_runs * share_of_time", "B",
    "Bytes of traces that all runs of a job write in a day.", above=False, label="traces written per day")  # fmt: skip
totals(
    publish="Writes of versions",
    pull="Reads of versions by all rollout hosts",
    join="Reads where all rollout hosts join at once",
    trace="Writes of rollout traces",
)
