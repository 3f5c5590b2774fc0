"""One job, one cluster and one data set of a site. Totals are in `site_totals`."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities
from ingest.formulas.site_totals import columns

input_quantities(__file__)


alternative("job_read_bandwidth", "started_read_bandwidth", when="data_read", optional=True)

computed_quantity("bandwidth_growth", "bandwidth_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Bandwidth now, over that at the start of the plan.", source="zhao2022", where="growth over two years, compounded: g^(N/2)",
    example="bandwidth_growth(4, 3 * 31_557_600, 2 * 31_557_600) -> 8.0")  # fmt: skip
computed_quantity("doubling_seconds", "growth_period_seconds * (log(2) / maximum(log(growth_factor), 1e-9))", "s",
    "Time in which bytes or a bandwidth double at a growth; without growth practically never.", where="period × ln 2 ÷ ln g",
    label="doubling time", needs="growth_factor growth_period_seconds",
    example="doubling_seconds(4, 2 * 31_557_600), doubling_seconds(1, 31_557_600) > 1e15 -> (31557600.0, True)")  # fmt: skip
computed_quantity("samples_of_file_bytes",
    "where(minimum(file_bytes / sample_bytes, 2 * samples_in_one - file_bytes / sample_bytes) > samples_in_one / 2,"
    " samples_in_one, file_bytes / sample_bytes)", "sample/file",
    "Samples in a file, by its size; a file of about the size of a sample holds one.",
    example="samples_of_file_bytes(115_385, 114_660, 1), samples_of_file_bytes(3.6e6, 1.2e6, 1) -> (1, 3.0)")  # fmt: skip
computed_quantity("job_cold_read_bandwidth", "run_cold_read_bandwidth * concurrent_runs", "B/s",
    "Read bandwidth of all concurrent runs of a job while nothing is cached.",
    label="cold read bandwidth of concurrent runs")  # fmt: skip
computed_quantity("node_cold_read_bandwidth", "run_cold_read_bandwidth / nodes", "B/s/node",
    "Read bandwidth of one node of a job while nothing is cached.",
    label="cold read bandwidth of one node of the job")  # fmt: skip
computed_quantity("job_read_bandwidth", "run_read_bandwidth * concurrent_runs", "B/s",
    "Read bandwidth of all concurrent runs of a job.", label="read bandwidth of concurrent runs")  # fmt: skip
computed_quantity("started_read_bandwidth",
    "run_read_bandwidth * minimum(starting_runs, concurrent_runs)"
    " + run_cold_read_bandwidth * warm_share * maximum(concurrent_runs - starting_runs, 0)", "B/s",
    "Read bandwidth of all concurrent runs of a job, of which only some start together: the others are warm.",
    needs="run_read_bandwidth run_cold_read_bandwidth warm_share starting_runs concurrent_runs",
    example="started_read_bandwidth(10e9, 20e9, 0.25, 1, 3) -> 20000000000.0")  # fmt: skip
computed_quantity("node_read_bandwidth", "run_read_bandwidth / nodes", "B/s/node",
    "Read bandwidth of one node of a job.", label="read bandwidth of one node of the job")  # fmt: skip
computed_quantity("job_sustained_read_bandwidth", "run_drawn_read_bandwidth * warm_share * concurrent_runs * share_of_time",
    "B/s", "Sustained read bandwidth of a job: later epochs, averaged over the share of time in which it runs.",
    label="sustained read bandwidth of the job")  # fmt: skip
computed_quantity("nodes_at_once", "nodes * concurrent_runs", "node", "Nodes of all concurrent runs of a job.",
    label="nodes of concurrent runs", whole=True, of="exporting_nodes", when="exports_models")  # fmt: skip
computed_quantity("nodes_on_average", "nodes_at_once * share_of_time", "node", "Mean number of nodes that a job occupies.",
    mean=True)  # fmt: skip


computed_quantity("request_of_file", "minimum(request_bytes, sample_bytes * samples_per_file * one_file)", "B",
    "Read size where whole files are read in sequence: the largest read request, at most a file.",
    example="request_of_file(1_048_576, 114_660, 1, 1) -> 114660")  # fmt: skip
computed_quantity("request_of_sample", "minimum(request_bytes, sample_bytes * one_sample)", "B",
    "Read size where a sample is read at a time: the largest read request, at most a sample.",
    example="request_of_sample(131_072, 2_828_486, 1) -> 131072")  # fmt: skip
computed_quantity("request_of_group", "minimum(request_bytes, sample_bytes * records_per_group)", "B",
    "Read size where a group of rows is read at a time: the largest read request, at most a group.",
    example="request_of_group(1_048_576, 120, 1000) -> 120000")  # fmt: skip
computed_quantity("request_of_sequence",
    "minimum(request_bytes, maximum(page_bytes, sample_bytes * (sequence_length / tokens_per_sample)))", "B",
    "Read size of one sequence in a memory-mapped file: at least a page, at most the largest read request.",
    example="request_of_sequence(1_048_576, 4096, 4, 8192, 1) -> 32768.0")  # fmt: skip
computed_quantity("request_of_record", "minimum(request_bytes, maximum(page_bytes, sample_bytes * one_sample))", "B",
    "Read size of one sample in a memory-mapped file: at least a page, at most the largest read request.",
    example="request_of_record(1_048_576, 4096, 32_768, 1), request_of_record(1_048_576, 4096, 912, 1)"
        " -> (32768, 4096)")  # fmt: skip
computed_quantity("request_of_packed_samples", "minimum(request_bytes, maximum(packed_read_bytes, sample_bytes * one_sample))",
    "B", "Read size where a file holds many samples: at least the read-ahead, at most the largest read request.",
    example="request_of_packed_samples(131_072, 131_072, 912, 1) -> 131072")  # fmt: skip
computed_quantity("node_reads_per_second", "node_read_bandwidth / read_request_bytes", "1/s/node",
    "Read IOPS of one node of a job.")  # fmt: skip
computed_quantity("samples_of_epochs", "training_epochs * dataset_samples", "sample",
    "Samples of a training run of so many epochs.", of="training_samples", when="length_in_epochs")  # fmt: skip
computed_quantity("samples_of_data_tokens", "data_tokens / tokens_per_sample", "sample",
    "Samples of one epoch of a data set of tokens.")  # fmt: skip
computed_quantity("samples_of_tokens", "training_tokens / tokens_per_sample", "sample",
    "Samples of a training run on so many tokens.")  # fmt: skip
computed_quantity("samples_of_examples", "training_examples * sequences_per_example * one_sample", "sample",
    "Sequences of a training run on so many pairs of preferences.", of="training_samples", when="length_in_pairs",
    example="samples_of_examples(60_000, 2, 1) -> 120000")  # fmt: skip
computed_quantity("samples_of_paired_tokens", "training_examples * sequences_per_example * sequence_length / tokens_per_sample",
    "sample", "Samples of a token each of a training run on so many pairs of sequences.", of="training_samples",
    when="length_in_pairs_of_tokens", example="samples_of_paired_tokens(10_000, 2, 2048, 1) -> 40960000.0")  # fmt: skip
computed_quantity("run_seconds", "training_samples / samples_per_second_per_job", "s",
    "Duration of one run that never waits for storage.", label="duration of a run")  # fmt: skip
computed_quantity("job_write_bandwidth", "run_write_bandwidth * concurrent_runs", "B/s",
    "Checkpoint write bandwidth of all concurrent runs of a job.",
    label="checkpoint write bandwidth of concurrent runs")  # fmt: skip
computed_quantity("job_checkpoint_bytes_per_day", "checkpoint_bytes_written_per_day * concurrent_runs * share_of_time", "B",
    "Bytes per day that a job's checkpoints write.")  # fmt: skip
computed_quantity("job_sustained_write_bandwidth", "job_checkpoint_bytes_per_day / seconds_per_day", "B/s",
    "Sustained checkpoint write bandwidth of a job, averaged over time.",
    label="sustained checkpoint write bandwidth of the job")  # fmt: skip
computed_quantity("job_restart_bandwidth",
    "minimum(restart_read_bytes / outage_restart_seconds * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Restore bandwidth of all concurrent runs of a job, as after an outage of the whole site.",
    label="restore bandwidth of concurrent runs",
    example="job_restart_bandwidth(6e12, 600, 2, 72e9), "
        "job_restart_bandwidth(6e12, 600, 2, 15e9) -> (20000000000.0, 15000000000.0)")  # fmt: skip
computed_quantity("job_file_opens",
    "file_opens_per_second_per_job * cold_share * concurrent_runs * bandwidth_growth * drawn_share", "file/s",
    "File opens per second of all concurrent runs of a job.", label="file opens of concurrent runs")  # fmt: skip
computed_quantity("run_file_creates", "checkpoint_files / create_seconds", "file/s",
    "Files per second that a run creates as a checkpoint starts: all ranks open theirs together.",
    label="file creates of a run as a checkpoint starts")  # fmt: skip
computed_quantity("job_checkpoint_bytes_held", "checkpoint_retained_bytes * concurrent_runs", "B",
    "Checkpoints of a job on storage, each run keeping its own.", label="bytes of checkpoints kept")  # fmt: skip
computed_quantity("job_checkpoint_files_held", "checkpoint_files * checkpoints_retained * concurrent_runs", "file",
    "Files of the retained checkpoints of a job.", label="files of checkpoints kept", whole=True)  # fmt: skip
computed_quantity("staged_bytes_each", "node_bytes_whole * nodes", "B",
    "Bytes read from storage to stage a data set of which every node keeps the whole.")  # fmt: skip


computed_quantity("node_bytes_whole", "job_dataset_bytes / single_node", "B/node",
    "NVMe of a node that holds the whole data set.", label="NVMe per node for the whole data set", of="node_local_bytes",
    when="staged_whole")  # fmt: skip
computed_quantity("node_bytes_shared", "job_dataset_bytes / nodes", "B/node",
    "NVMe of a node that holds its share of the data set.", label="NVMe per node for a share of the data set",
    of="node_local_bytes", when="staged_in_shares")  # fmt: skip
computed_quantity("job_staging_bandwidth",
    "minimum(staged_bytes / staging_seconds_allowed * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Read bandwidth that stages the data set of all concurrent runs within the time allowed.",
    example="job_staging_bandwidth(6e12, 600, 2, 72e9), "
        "job_staging_bandwidth(6e12, 600, 2, 15e9) -> (20000000000.0, 15000000000.0)")  # fmt: skip
computed_quantity("staging_seconds", "staged_bytes / staging_bandwidth_of_run", "s",
    "Time to stage a data set at the read bandwidth that storage gives one run.", label="staging time")  # fmt: skip
computed_quantity("bandwidth_to_stage_in_time", "staged_bytes / staging_seconds_allowed", "B/s",
    "Read bandwidth that stages the data set of one run within the time allowed.", of="staging_bandwidth_of_run",
    when="staged_on_nodes")  # fmt: skip
computed_quantity("share_not_cached", "1 - node_cache_hit", "1",
    "Share of later reads that storage serves because the caches of the nodes miss.", of="miss_share", when="cache_hits_stated",
    high=1)  # fmt: skip
computed_quantity("node_cache_bytes", "warm_up_bytes / nodes", "B/node",
    "NVMe capacity of a node that its read cache fills.", of="node_local_bytes", when="cached_on_drives")  # fmt: skip
computed_quantity("node_checkpoint_bytes", "2 * checkpoint_bytes / nodes", "B/node",
    "NVMe of a node for its share of two checkpoints: the last complete one, and the one being written.",
    label="checkpoints on the NVMe of a node", example="node_checkpoint_bytes(8_000_000_000, 16) -> 1000000000.0")  # fmt: skip
computed_quantity("node_kept_with_checkpoints", "node_local_bytes + node_checkpoint_bytes", "B/node",
    "NVMe of a node for data and checkpoints.")  # fmt: skip

computed_quantity("mean_bytes_of_files", "data_bytes / data_files", "B/file", "Mean size of the files of a data set.")
computed_quantity("samples_of_files", "data_samples / data_files", "sample/file", "Mean samples in a file of a data set.")

columns("sources", "1", "source_weight")
columns("sources", "B", "source_bytes")
columns("sources", "sample", "source_samples")
columns("sources", "B/sample", "weighted_sample_bytes")
columns("sources", "B/token", "weighted_token_bytes")
columns("sources", "file/sample", "weighted_files")

# Growth by a factor or an amount, and data with a lifetime
computed_quantity("capacity_growth", "capacity_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Bytes now, over those at the start of the plan.", source="zhao2022", where="growth over two years, compounded: g^(N/2)",
    example="capacity_growth(2, 5 * 31_557_600, 2 * 31_557_600) -> 5.6568...")  # fmt: skip
columns("growing", "B", "bytes_at_start")
# Data that expire come first: what is deleted counts whatever they grow by.
computed_quantity("growth_less_expired", "created_growth - expired_growth", "1",
    "Bytes now, over those at the start of the plan: what has arrived, less what is past its lifetime.",
    label="growth less what is deleted", of="capacity_growth", when="data_expire")  # fmt: skip
computed_quantity("growth_by_amount", "1 + growth_amount * (elapsed_seconds / growth_period_seconds) / growth_base_bytes", "1",
    "Bytes now, over those at the start of the plan, where each period adds as many.", of="capacity_growth",
    when="grows_by_amount", where="the bytes added, over those at the start",
    example="growth_by_amount(300e12, 2 * 31_557_600, 31_557_600, 600e12) -> 2.0")  # fmt: skip
computed_quantity("growth_by_factor", "capacity_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Bytes that have arrived until now, over those at the start of the plan.", where="the factor, compounded",
    of="created_growth", when="grows_by_factor", example="growth_by_factor(2, 3, 1) -> 8.0")  # fmt: skip
computed_quantity("expired_by_factor",
    "where(elapsed_seconds > lifetime_seconds + arrival_seconds,"
    " capacity_growth_factor ** (maximum(elapsed_seconds - lifetime_seconds, 0) / growth_period_seconds), 0)", "1",
    "Bytes that are past their lifetime, over those at the start of the plan: all that had arrived a lifetime ago.",
    needs="capacity_growth_factor elapsed_seconds lifetime_seconds arrival_seconds growth_period_seconds",
    of="expired_growth", when="grows_by_factor", example="expired_by_factor(2, 7, 5, 0, 1) -> 4.0")  # fmt: skip
computed_quantity("expired_by_amount",
    "where(elapsed_seconds > lifetime_seconds + arrival_seconds, 1 + growth_amount"
    " * (maximum(elapsed_seconds - lifetime_seconds, 0) / growth_period_seconds) / growth_base_bytes, 0)", "1",
    "Bytes that are past their lifetime, over those at the start of the plan: all that had arrived a lifetime ago.",
    needs="growth_amount elapsed_seconds lifetime_seconds arrival_seconds growth_period_seconds growth_base_bytes",
    of="expired_growth", when="grows_by_amount", example="expired_by_amount(300e12, 7, 5, 0, 1, 600e12) -> 2.0")  # fmt: skip
computed_quantity("arriving_bytes_per_day",
    "data_bytes * data_copies * present * maximum(created_growth - created_growth_before, 0) * seconds_per_day"
    " / seconds_per_year", "B",
    "Bytes per day that arrive, those that replace deleted ones among them, spread evenly over the year.",
    of="dataset_bytes_added_per_day", when="data_expire",
    example="arriving_bytes_per_day(1_461e9, 1, 1, 2, 1, 86_400, 31_557_600) -> 4000000000.0")  # fmt: skip
computed_quantity("bytes_at_start", "data_bytes * data_copies * versions_held", "B",
    "Bytes of a data set held before it grows.", label="data before growth")  # fmt: skip
computed_quantity("bytes_that_grow", "total(bytes_at_start_of_growing)", "B",
    "Bytes of all data sets that share the growth of a site, before they grow.", label="data that grow together")  # fmt: skip

computed_quantity("data_bytes_of_samples", "data_samples * data_sample_bytes", "B",
    "Size of a data set, from its samples.", of="data_bytes", when="size_in_samples")  # fmt: skip
computed_quantity("bytes_of_tokens", "data_tokens * data_bytes_per_token", "B",
    "Size of a data set, from its tokens.", of="data_bytes", when="size_in_tokens")  # fmt: skip
computed_quantity("bytes_of_origin", "origin_bytes * kept_share", "B",
    "Size of a data set, from the data set that it is made from.", of="data_bytes", when="made_from_another")  # fmt: skip
computed_quantity("files_of_samples", "ceil(data_samples / samples_in_file)", "file",
    "Files of a data set, by samples; the last one may be shorter.", of="data_files", when="files_by_samples", whole=True,
    example="files_of_samples(1_281_167, 1251) -> 1025")  # fmt: skip
computed_quantity("files_of_bytes", "ceil(data_bytes / file_bytes)", "file",
    "Files of a data set, by bytes; the last one may be shorter.", of="data_files", when="files_by_bytes", whole=True,
    example="files_of_bytes(60e12, 1e9) -> 60000")  # fmt: skip
computed_quantity("versions_kept", "1 + ceil(retention_seconds / refresh_seconds)", "1",
    "Versions on storage: the current one, and those not yet past their retention.", of="versions_held", when="refreshed",
    example="versions_kept(365, 90) -> 6")  # fmt: skip
computed_quantity("dataset_bytes_held", "data_bytes * data_copies * versions_held * present * capacity_growth", "B",
    "Bytes of a data set held: copies, versions, growth.", label="data set bytes held")  # fmt: skip
computed_quantity("dataset_files_held", "data_files * data_copies * versions_held * present * capacity_growth", "file",
    "Files of a data set on storage.", label="data set files held")  # fmt: skip
computed_quantity("dataset_bytes_written_per_day",
    "data_bytes * data_copies * present * capacity_growth * seconds_per_day / refresh_seconds", "B",
    "Bytes per day that new versions of a data set write.", label="data set writes per day")  # fmt: skip
computed_quantity("dataset_bytes_added_per_day",
    "maximum(dataset_bytes_held - dataset_bytes_held_before, 0) * seconds_per_day / seconds_per_year", "B",
    "Bytes per day of the first load of a data set and of its growth, spread evenly over the year.",
    example="dataset_bytes_added_per_day(1_461e9, 0, 86_400, 31_557_600) -> 4000000000.0")  # fmt: skip
computed_quantity("stored_bytes_of_parts",
    "text_tokens_per_sample * text_bytes_per_token + images_per_sample * image_bytes"
    " + audio_seconds_per_sample * audio_bytes_per_second", "B/sample",
    "Stored bytes of a sample of text, images and audio, each counted by itself.", of="data_sample_bytes",
    when="samples_of_parts", example="stored_bytes_of_parts(815, 4, 2.5, 60_000, 0, 0) -> 153260.0")  # fmt: skip
computed_quantity("bytes_of_one_sample", "data_bytes / data_samples", "B/sample",
    "Stored bytes of one sample, from those of all.")  # fmt: skip
computed_quantity("bytes_of_one_token", "data_bytes / data_tokens", "B/token", "Stored bytes of one token, from those of all.")
computed_quantity("weighted_sample_bytes", "source_weight * source_sample_bytes", "B/sample",
    "Part of one data set in the bytes of a mixture that is weighted by samples.")  # fmt: skip
computed_quantity("weighted_token_bytes", "source_weight * source_token_bytes", "B/token",
    "Part of one data set in the bytes of a mixture that is weighted by tokens.")  # fmt: skip
computed_quantity("weighted_files", "source_weight / source_samples_in_file", "file/sample",
    "Part of one data set in the files that a mixture opens for a sample.")  # fmt: skip
computed_quantity("mixed_sample_bytes", "total(weighted_sample_bytes_of_sources) / total(source_weight_of_sources)", "B/sample",
    "Mean bytes of the samples of a mixture, by the weight of each data set.", label="bytes of a sample of the mixture",
    of="data_sample_bytes", when="mixture_by_samples",
    example="mixed_sample_bytes([720_000, 45_000, 1638.4], [0.45, 0.45, 0.1]) -> 766638.4")  # fmt: skip
computed_quantity("mixed_token_bytes", "total(weighted_token_bytes_of_sources) / total(source_weight_of_sources)", "B/token",
    "Mean bytes of the tokens of a mixture, by the weight of each data set.", label="bytes of a token of the mixture",
    example="mixed_token_bytes([3.0, 50.0], [0.75, 0.25]) -> 53.0")  # fmt: skip
computed_quantity("mixed_bytes_of_tokens", "mixed_token_bytes * tokens_per_sample", "B/sample",
    "Mean bytes of the samples of a mixture that is weighted by tokens.")  # fmt: skip
computed_quantity("mixed_samples_in_file", "total(source_weight_of_sources) / total(weighted_files_of_sources)", "sample/file",
    "Samples that a mixture reads for each file that it opens.", label="samples in a file of the mixture", of="samples_in_file",
    when="mixture_of_known_files", example="mixed_samples_in_file([0.5, 0.5], [0.005, 0.045]) -> 20.0")  # fmt: skip
computed_quantity("mixed_bytes", "total(source_bytes_of_sources)", "B", "Bytes of all data sets of a mixture, each once.",
    label="bytes of the mixture", of="data_bytes", when="mixture_of_sets")  # fmt: skip
computed_quantity("mixed_samples", "total(source_samples_of_sources)", "sample", "Samples of all data sets of a mixture.",
    label="samples of the mixture", of="data_samples", when="mixture_of_known_samples")  # fmt: skip
