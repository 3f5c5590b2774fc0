"""Acceptance tests: load, data set, duration and pass limits; the output of test tools, measured against required rates."""

from ingest.engine.registry import computed_quantity, input_quantities

input_quantities(__file__)

computed_quantity("aligned_io_bytes", "ceil(requested_io_bytes / direct_io_alignment) * direct_io_alignment", "B",
    "Bytes of one request, rounded up so that direct I/O takes it.", source="fio-docs",
    where="direct: size and position of a request must suit the block size",
    example="aligned_io_bytes(100_000, 4096) -> 102400")  # fmt: skip
computed_quantity("required_bandwidth_per_client", "required_bandwidth / clients_under_test", "B/s/node",
    "One client's share of a required rate: what a test on one machine must reach.")  # fmt: skip
computed_quantity("required_file_rate_per_client", "required_file_rate / clients_under_test", "file/s/node",
    "One client's share of a required number of files each second.")  # fmt: skip
computed_quantity("required_requests_per_second", "required_bandwidth / aligned_io_bytes", "1/s",
    "Requests each second that a rate implies at a request size.")  # fmt: skip
computed_quantity("requests_in_flight", "clients_under_test * threads_per_client * requests_in_flight_per_thread", "1",
    "Queue depth of the whole test: outstanding I/Os of all clients.", label="queue depth of the test")  # fmt: skip
computed_quantity("mean_latency_allowed", "requests_in_flight / required_requests_per_second", "s",
    "Mean latency allowed: a longer one makes the rate unreachable at this queue depth.", source="little1961",
    where="L = λW")  # fmt: skip
computed_quantity("queue_depth_per_client", "line_queue_depth / clients_under_test", "1/node",
    "Outstanding I/Os of one client.")  # fmt: skip
computed_quantity("tested_requests_per_byte", "mix_share / aligned_io_bytes", "1/B",
    "Requests of one part of a line, per byte of the whole line.")  # fmt: skip
computed_quantity("share_of_requests", "tested_requests_per_byte / all_requests_per_byte", "1",
    "Share of one part in the requests of a line, and so in its queue depth: all parts see the same latency.",
    high=1)  # fmt: skip
computed_quantity("part_queue_depth", "queue_depth_per_client * share_of_requests", "1/node",
    "Outstanding I/Os of one part of a line on one client.")  # fmt: skip
computed_quantity("line_depth_per_thread",
    "ceil(maximum(queue_depth_per_client / minimum(threads_per_client, most_threads_per_client), 1))", "1",
    "Queue depth of each thread that reaches the depth of a line with no more threads than it names.",
    example="line_depth_per_thread(64, 64, 64), line_depth_per_thread(65, 65, 64), line_depth_per_thread(4, 8, 64)"
        " -> (1, 2, 1)")  # fmt: skip
computed_quantity("threads_of_load",
    "maximum(-ceil(-(part_queue_depth / line_depth_per_thread * queue_rounding)), fewest_threads_per_client)", "1/node",
    "Threads of one client that issue the requests of a load.", where="rounded down: a queue depth is a ceiling",
    example="[threads_of_load(depth, each, 1.000001, 1) for depth, each in ((128, 2), (9, 2), (0.1, 1), (5.9999999999, 1))]"
        " -> [64, 4, 1, 6]")  # fmt: skip
computed_quantity("depth_of_load", "maximum(-ceil(-(part_queue_depth / threads_of_load * queue_rounding)), 1)", "1",
    "Queue depth of each thread of a load.", where="rounded down, as the threads",
    example="depth_of_load(128, 64, 1.000001), depth_of_load(9, 4, 1.000001), depth_of_load(7, 1, 1.000001)"
        " -> (2, 2, 7)")  # fmt: skip
computed_quantity("tested_bandwidth", "required_bandwidth * mix_share", "B/s", "Bandwidth of one part of a line.")
computed_quantity("whole_seconds", "ceil(acceptance_seconds)", "s", "Duration of a test.", where="tools take whole seconds")
computed_quantity("ramp_seconds", "minimum(longest_ramp_seconds, acceptance_seconds * ramp_share)", "s",
    "Time that a test runs before it is measured.", needs="acceptance_seconds longest_ramp_seconds ramp_share",
    example="ramp_seconds(1800, 60, 0.2), ramp_seconds(300, 60, 0.2), ramp_seconds(60, 60, 0.2) -> (60, 60, 12.0)")  # fmt: skip
computed_quantity("longest_run_seconds",
    "ceil(acceptance_seconds + ramp_seconds + maximum(ramp_seconds, client_start_seconds) + files_looked_up * lookup_seconds)",
    "s", "Time of a run beyond which its clients did not measure at the same time.",
    example="longest_run_seconds(300, 60, 10, 0, 0), longest_run_seconds(300, 0, 10, 36_000, 0.002) -> (420, 382)")  # fmt: skip
computed_quantity("seconds_of_runs", "test_runs * (acceptance_seconds + ramp_seconds)", "s",
    "Time of all runs of a test.", example="seconds_of_runs(3, 1800, 60) -> 5580")  # fmt: skip
computed_quantity("files_seconds", "files_handled / required_file_rate", "s",
    "Time of a test that ends after a number of files, at the required rate.")  # fmt: skip
computed_quantity("server_cache_assumed",
    "maximum(required_bandwidth * server_cache_seconds, acceptance_usable_bytes * server_cache_share)", "B",
    "Read cache of servers with a bandwidth and a capacity, where it is unknown.",
    example="server_cache_assumed(100e9, 25, 1e15, 0.001) / 1e12, server_cache_assumed(100e9, 25, 4e15, 0.001) / 1e12"
        " -> (2.5, 4.0)")  # fmt: skip
computed_quantity("uncached_bytes", "server_cache_bytes * server_cache_multiple + undropped_client_bytes", "B",
    "Least data set of a read test: more than the caches of servers and clients hold.",
    example="uncached_bytes(2.5e12, 1.5, 0) / 1e12 -> 3.75")  # fmt: skip
computed_quantity("memory_rule_bytes", "client_memory_bytes * dataset_memory_multiple * clients_under_test", "B",
    "Data set of a test that reads through the page cache: DLIO and MLPerf Storage.", source="mlperf-storage-v2",
    where="data set at least five times the clients' memory")  # fmt: skip
computed_quantity("folders_of_client",
    "maximum(minimum(-ceil(-(dataset_clients / clients_under_test)), (dataset_clients - own_folder) / own_folder), 1)", "1",
    "Folders that each client of a test reads: an equal part of those of all clients, none of which it wrote.",
    example="folders_of_client(64, 64, 1), folders_of_client(64, 20, 1), folders_of_client(64, 1, 1), folders_of_client(1, 1, "
    "1) -> (1, 3, 63.0, 1)")  # fmt: skip
computed_quantity("files_of_thread", "-ceil(-(acceptance_files_per_client * folders_of_client / threads_per_client))", "file",
    "Files that one thread of a read test reads.", whole=True,
    example="files_of_thread(32, 1, 8), files_of_thread(32, 63, 8), files_of_thread(32, 1, 5) -> (4, 252, 6)")  # fmt: skip
computed_quantity("folders_read", "clients_under_test * threads_per_client * files_of_thread / acceptance_files_per_client",
    "node", "Folders of the data set, one of each client that filled it, that a test reads.",
    label="folders of the data set")  # fmt: skip
computed_quantity("uncached_bytes_per_client", "uncached_bytes / fewest_folders_read", "B/node",
    "Data that each client fills, so that the test that reads the fewest folders reads enough.")  # fmt: skip
computed_quantity("read_set_bytes", "folders_read * acceptance_dataset_bytes_per_client", "B", "Data set of a read test.")
computed_quantity("share_from_cache", "minimum(server_cache_bytes / read_set_bytes, 1)", "1",
    "Share of random reads that a full cache of the servers can serve.", high=1,
    example="share_from_cache(3e12, 4e12) -> 0.75")  # fmt: skip
computed_quantity("capacity_in_use", "acceptance_usable_bytes * fill_under_test", "B",
    "Capacity of the system under test that is in use during the tests.")  # fmt: skip
computed_quantity("dataset_room", "minimum(capacity_in_use, dataset_bytes_at_most)", "B",
    "Capacity of the system under test that the data sets of one tool may occupy.",
    label="capacity for the data of the tests")  # fmt: skip
computed_quantity("dataset_room_per_client", "dataset_room / dataset_count / dataset_clients", "B/node",
    "One client's share of the capacity that the data sets of one tool may occupy, per data set.")  # fmt: skip
computed_quantity("acceptance_dataset_bytes_per_client", "minimum(uncached_bytes_per_client, dataset_room_per_client)",
    "B/node", "Data of one client in a read test, within the capacity that is available.")  # fmt: skip
computed_quantity("capacity_left_per_client",
    "acceptance_usable_bytes * (1 - fill_under_test) * write_share_of_rest / clients_under_test", "B/node",
    "Capacity that one client may write in a test, beyond what is in use.",
    example="round(capacity_left_per_client(160e12, 0.8, 0.5, 100) / 1e9) -> 160")  # fmt: skip
computed_quantity("all_dataset_bytes", "acceptance_dataset_bytes * dataset_count", "B", "Bytes of all data sets of a tool.")
computed_quantity("fill_seconds", "all_dataset_bytes / required_write_bandwidth", "s",
    "Time to fill the data sets at the required write bandwidth.")  # fmt: skip
computed_quantity("request_growth", "aligned_io_bytes / requested_io_bytes", "1",
    "I/O size of the test over that of the requirement; the test "
    "needs fewer requests by this factor at equal bandwidth.")  # fmt: skip
computed_quantity("acceptance_dataset_bytes", "acceptance_dataset_bytes_per_client * dataset_clients", "B",
    "Bytes of a data set.")  # fmt: skip
computed_quantity("fill_request_bytes", "ceil(maximum(smallest_fill_request / aligned_io_bytes, 1)) * aligned_io_bytes", "B",
    "Bytes of one request while files are filled: whole test requests, large enough to be quick.",
    needs="aligned_io_bytes smallest_fill_request",
    example="fill_request_bytes(131_072, 2**20), fill_request_bytes(16 * 2**20, 2**20) -> (1048576, 16777216)")  # fmt: skip
computed_quantity("acceptance_file_bytes",
    "ceil(acceptance_dataset_bytes_per_client / acceptance_files_per_client / fill_request_bytes) * fill_request_bytes",
    "B/file", "Bytes of one file of a read test, in whole fill requests.",
    example="acceptance_file_bytes(64 * 2**20, 8, 2**20) -> 8388608")  # fmt: skip
computed_quantity("written_bytes_per_client",
    "minimum(required_bandwidth_per_client * acceptance_seconds, write_room_per_client)", "B/node",
    "Bytes of the files that a client writes in a test: the test overwrites them only where the capacity is short.",
    example="written_bytes_per_client(2e9, 600, 1e30), written_bytes_per_client(2e9, 600, 160e9)"
        " -> (1200000000000.0, 160000000000.0)")  # fmt: skip
computed_quantity("metadata_files",
    "ceil(maximum(minimum(required_file_rate_per_client * metadata_pass_seconds, most_metadata_files_per_client), "
    "fewest_metadata_files))", "file/node",
    "Files of a client in one pass of a metadata test at the required rate, at most its share of the files to hold.",
    needs="required_file_rate_per_client metadata_pass_seconds fewest_metadata_files most_metadata_files_per_client",
    example="metadata_files(1562.5, 60, 1000, 1e9), metadata_files(0.02, 60, 1000, 1e9), metadata_files(1562.5, 60, 1000, 2e4)"
        " -> (93750, 1000, 20000)")  # fmt: skip
computed_quantity("most_metadata_files_per_client", "most_metadata_files / clients_under_test", "file/node",
    "One client's share of the files that the system must hold.")  # fmt: skip
computed_quantity("metadata_passes", "ceil(required_file_rate_per_client * acceptance_seconds / metadata_files)", "1",
    "Passes over the files that last as long as the test, at the required rate.",
    example="metadata_passes(1562.5, 1800, 93_750), metadata_passes(0.02, 1800, 1000) -> (30, 1)")  # fmt: skip
computed_quantity("metadata_files_per_thread", "ceil(metadata_files / threads_per_client)", "file",
    "Files of one thread in a metadata test.", whole=True, example="metadata_files_per_thread(93_750, 8) -> 11719")  # fmt: skip
computed_quantity("rate_of_all_clients", "rate_per_client * clients_under_test", "1/s",
    "A rate of each client, times the clients.")  # fmt: skip
computed_quantity("emulated_accelerator_bandwidth", "mlperf_batch * mlperf_record_bytes / mlperf_step_seconds", "B/s/GPU",
    "Read bandwidth of one emulated H100 in the benchmark's UNet3D at full utilization.", source="mlperf-storage-v2",
    where="configs/dlio/workload/unet3d_h100.yaml")  # fmt: skip
computed_quantity("accelerators_for_bandwidth",
    "ceil(required_bandwidth / (emulated_accelerator_bandwidth * accepted_utilization))", "GPU",
    "Emulated accelerators that together read at a required bandwidth, at the lowest utilization that the benchmark accepts.",
    whole=True, example="accelerators_for_bandwidth(512e9, 3177.1e6, 0.9) -> 180")  # fmt: skip
computed_quantity("emulated_step_seconds",
    "accepted_utilization * benchmark_accelerators * benchmark_batch * benchmark_record_bytes / required_bandwidth", "s",
    "Compute time per batch at which emulated accelerators need a bandwidth, at the lowest utilization that passes.",
    source="dlio", where="computation_time: an emulated accelerator sleeps for each batch")  # fmt: skip
computed_quantity("epochs_for_duration", "ceil(acceptance_seconds * required_bandwidth / benchmark_data_bytes)", "1",
    "Epochs that last as long as the test, at the required bandwidth.",
    example="epochs_for_duration(1800, 512e9, 1.407e15), epochs_for_duration(7200, 512e9, 1.407e15) -> (1, 3)")  # fmt: skip

computed_quantity("acceptance_margin", "measured_rate / required_rate - 1", "1",
    "Share by which a measured rate is above the required one; below it is negative.",
    example="acceptance_margin(4.4, 4.0) -> 0.10000000000000009")  # fmt: skip
computed_quantity("accepted_rate", "required_rate * (1 - allowed_deviation)", "1",
    "Lowest rate that counts as the required one: the lower bound of the median of the runs must reach it.",
    example="accepted_rate(4.0, 0.03) -> 3.88")  # fmt: skip
computed_quantity("median_standard_error",
    "winsorized_deviation / ((1 - 2 * trimmed_runs / judged_runs) * judged_runs**0.5)", "1",
    "Standard error of the trimmed mean of several runs, as a share of their rate.", source="tukey-mclaughlin1963",
    where="the standard error of a trimmed mean", needs="winsorized_deviation judged_runs trimmed_runs",
    example="round(median_standard_error(0.03, 9, 0), 4), round(median_standard_error(0.03, 10, 2), 4)"
        " -> (0.01, 0.0158)")  # fmt: skip
computed_quantity("median_lower_bound", "trimmed_mean_rate * base_of_logarithms ** -(student_factor * median_standard_error)",
    "1", "Lower bound of the median of several runs, in the unit of the requirement line.", source="tukey-mclaughlin1963",
    where="Student's t with the degrees of freedom of the runs left",
    needs="trimmed_mean_rate student_factor median_standard_error base_of_logarithms",
    example="round(median_lower_bound(4.0, 2.0, 0.01, 2.718281828459045), 4) -> 3.9208")  # fmt: skip
computed_quantity("median_upper_bound", "trimmed_mean_rate * base_of_logarithms ** (student_factor * median_standard_error)",
    "1", "Upper bound of the median of several runs, in the unit of the requirement line.", source="tukey-mclaughlin1963",
    where="Student's t with the degrees of freedom of the runs left",
    needs="trimmed_mean_rate student_factor median_standard_error base_of_logarithms",
    example="round(median_upper_bound(4.0, 2.0, 0.01, 2.718281828459045), 4) -> 4.0808")  # fmt: skip
computed_quantity("lowest_second_share", "lowest_second_rate / required_rate", "1",
    "Lowest rate within one second of a test, over the required rate.")  # fmt: skip
computed_quantity("slowest_client_share", "slowest_client_rate / mean_client_rate", "1",
    "Rate of the slowest client of a test, over the mean of all clients.", high=1)  # fmt: skip
computed_quantity("degraded_rate_required", "required_rate * degraded_term_share", "1",
    "Rate that remains required while a part of the system "
    "is out of service, in the unit of the requirement line.")  # fmt: skip
computed_quantity("mean_request_bytes", "transferred_bytes / transferred_requests", "B",
    "Mean size of the requests that a run issued.")  # fmt: skip
computed_quantity("gpus_fed", "measured_read_bandwidth / ingest_bandwidth_per_gpu", "GPU",
    "GPUs that a measured rate keeps busy; the whole part counts.")  # fmt: skip
computed_quantity("bandwidth_from_mebibytes", "reported_mebibytes_per_second * bytes_per_mebibyte", "B/s",
    "A printed MiB/s in base units.", source="dlio",
    where="utils/statscounter.py: the rate is divided by 1024 twice and called MB")  # fmt: skip
computed_quantity("bandwidth_from_kibibytes", "reported_kibibytes_per_second * bytes_per_kibibyte", "B/s",
    "A printed KiB/s in base units.", source="fio-docs", where="bw: KiB/s; bw_bytes: B/s")  # fmt: skip
computed_quantity("measured_file_rate", "files_handled / measured_seconds", "file/s",
    "Files created, opened or looked up each second, until the last thread was done.")  # fmt: skip
computed_quantity("bandwidth_from_megabytes", "reported_megabytes_per_second * bytes_per_megabyte", "B/s",
    "A printed MB/s of 10^6 bytes in base units.", source="elbencho-docs",
    where="Statistics.cpp: MB/s only where base 10 was asked for")  # fmt: skip
computed_quantity("bytes_from_kibibytes", "reported_kibibytes * bytes_per_kibibyte", "B",
    "A printed KiB in base units.", source="ior-docs", where="ior-output.c: xfer(KiB)")  # fmt: skip
computed_quantity("bytes_of_all_tasks", "block_kibibytes * bytes_per_kibibyte * segments_of_a_task * tasks", "B",
    "Data set of a parallel test.", source="ior-docs", where="aggregate file size: block, segments and tasks")  # fmt: skip
computed_quantity("files_of_all_tasks", "files_of_a_task * tasks * passes", "file",
    "Files that a metadata test creates, opens or looks up.", source="ior-docs", where="mdtest: -n, -i",
    whole=True)  # fmt: skip
computed_quantity("bandwidth_of_samples", "measured_samples_per_second * benchmark_record_bytes", "B/s",
    "Bytes behind the samples of a run.")  # fmt: skip
computed_quantity("record_bytes_reported", "bandwidth_from_mebibytes / measured_samples_per_second", "B/sample",
    "Bytes of a sample that a printed rate was computed with.", source="dlio",
    where="utils/statscounter.py: MB/s are computed from samples/s")  # fmt: skip
computed_quantity("bytes_from_gibibytes", "reported_gibibytes * bytes_per_gibibyte", "B", "A printed GiB in base units.",
    source="dlio", where="utils/statscounter.py: host_memory_GB is divided by 1024 three times")  # fmt: skip

headroom_fraction = computed_quantity("headroom_fraction", "1 - amount_needed / amount_available", "1",
    "Share of a layer's ceiling that stays free.", low=-float("inf"), high=1,
    example="headroom_fraction(3, 4), headroom_fraction(8, 4) -> (0.25, -1.0)")  # fmt: skip
shortfall_factor = computed_quantity("shortfall_factor", "amount_needed / amount_available", "1",
    "How many times a layer's ceiling would be needed.")  # fmt: skip

computed_quantity("change_ratio", "value_after / value_before", "1",
    "Value of a quantity in the second of two plans, over its value in the first.",
    needs="value_before value_after")  # fmt: skip

computed_quantity("acceptance_fill_bytes",
    "maximum(all_dataset_bytes, ballast_level_bytes) + all_dataset_bytes * (filling_tools - 1)", "B",
    "Bytes that are written before the tests: the data sets of each tool, and ballast up to the fill level once.",
    where="one tool's data sets are removed before the next tool fills its own",
    needs="all_dataset_bytes filling_tools ballast_level_bytes",
    example="acceptance_fill_bytes(21e12, 1, 237e12) / 1e12, acceptance_fill_bytes(21e12, 2, 0) / 1e12"
        " -> (237.0, 42.0)")  # fmt: skip
computed_quantity("acceptance_fill_seconds", "acceptance_fill_bytes / required_write_bandwidth", "s",
    "Time to write all data before the tests, at the required write bandwidth.")  # fmt: skip
computed_quantity("acceptance_effort_seconds", "acceptance_fill_seconds + all_run_seconds", "s",
    "Time of an acceptance: filling once, then all runs one after another.")  # fmt: skip

# What decides among offers
computed_quantity("electricity_of_offer",
    "offered_power / watts_per_kilowatt * hours_of_a_year * planned_years * electricity_price_per_kwh", "1",
    "Price of the electricity that an offered system takes over the planned years.")  # fmt: skip
computed_quantity("item_cost", "item_price * item_count", "1", "Cost of an item of an offer.", above=False)
computed_quantity("offer_cost", "total(item_costs)", "1", "Cost of an offer over the planned years.")
computed_quantity("cost_per_point", "offer_cost / other_points", "1",
    "Cost of an offer for each point of the criteria other than the price.")  # fmt: skip
computed_quantity("price_share", "lowest_cost / offer_cost", "1", "Share of the points of the price that an offer earns.",
    high=1)  # fmt: skip
computed_quantity("award_points", "criterion_points * share_earned", "1", "Points that an offer earns by one criterion.",
    above=False)  # fmt: skip
