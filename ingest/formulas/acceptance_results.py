"""Output of test tools in base units, measured rates against required rates, and the effort of the runs."""

from ingest.engine.registry import computed_quantity, input_quantity

# What was measured
input_quantity("measured_rate", "1", "Rate that a test measured, in the unit of the requirement line.", above=False)
input_quantity("required_rate", "1", "Rate that the requirement line demands, in the unit of the line.")
input_quantity("trimmed_mean_rate", "1", "Geometric mean of the rates of several runs, without the fastest and the slowest "
    "fifth of them.", above=False)  # fmt: skip
input_quantity("winsorized_deviation", "1", "Standard deviation of the logarithms of the rates of several runs, the fastest "
    "and the slowest fifth of them replaced by their nearest neighbours.", above=False)  # fmt: skip
input_quantity("base_of_logarithms", "1", "Base of natural logarithms.", low=1, default=2.718281828459045)
input_quantity("lowest_second_rate", "1", "Lowest rate of all threads together within one second of a test.", above=False)
input_quantity("slowest_client_rate", "1", "Rate of the slowest client of a test.", above=False)
input_quantity("mean_client_rate", "1", "Mean rate of the clients of a test.")
input_quantity("degraded_term_share", "1", "Share of a required rate that remains while a part is out of service.", high=1)
input_quantity("judged_runs", "1", "Runs of a test that count.", whole=True)
input_quantity("trimmed_runs", "1", "Runs that a trimmed mean leaves out at each end.", above=False)
input_quantity("student_factor", "1", "Quantile of Student's distribution at the level of a bound.")
input_quantity("measured_read_bandwidth", "B/s", "Read bandwidth that a test measured on a path.")
input_quantity("files_handled", "file", "Files that a metadata test created, opened or looked up.", whole=True)
input_quantity("measured_seconds", "s", "Time that a measurement took.")
input_quantity("transferred_bytes", "B", "Bytes that a run moved.")
input_quantity("transferred_requests", "1", "Requests that the transfer took.")
input_quantity("measured_samples_per_second", "sample/s", "Samples of a whole run, as DLIO reports them.", above=False)
input_quantity("reported_mebibytes_per_second", "1/s", "A rate as a benchmark prints it: MiB/s, also where it says MB/s.",
    above=False)  # fmt: skip
input_quantity("bytes_per_mebibyte", "B", "A MiB.", default=1_048_576)
input_quantity("reported_kibibytes_per_second", "1/s", "A rate in KiB/s, as fio prints it next to bytes.", above=False)
input_quantity("reported_kibibytes", "1", "A size in KiB, as a benchmark prints it.", above=False)
input_quantity("block_kibibytes", "1", "Contiguous KiB of a task in a file, as IOR prints them.")
input_quantity("segments_of_a_task", "1", "Blocks of a task; blocks of all tasks alternate.", whole=True, default=1)
input_quantity("tasks", "1", "Processes of a parallel test.", whole=True)
input_quantity("files_of_a_task", "file", "Files of one process in one pass of a metadata test.", whole=True)
input_quantity("passes", "1", "Passes of a metadata test over its files.", whole=True, default=1)
input_quantity("reported_megabytes_per_second", "1/s", "A rate in MB/s that really means 10^6 bytes.", above=False)
input_quantity("bytes_per_megabyte", "B", "A MB.", default=1_000_000)
input_quantity("reported_gibibytes", "1", "A size in GiB, as a benchmark prints it, also where it says GB.", above=False)
input_quantity("bytes_per_gibibyte", "B", "A GiB.", default=1_073_741_824)
input_quantity("bytes_per_kibibyte", "B", "A KiB.", default=1024)

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
computed_quantity("median_lower_bound",
    "trimmed_mean_rate * base_of_logarithms ** -(student_factor * median_standard_error)", "1",
    "Lower bound of the median of several runs, in the unit of the requirement line.", source="tukey-mclaughlin1963",
    where="Student's t with the degrees of freedom of the runs left",
    needs="trimmed_mean_rate student_factor median_standard_error base_of_logarithms",
    example="round(median_lower_bound(4.0, 2.0, 0.01, 2.718281828459045), 4) -> 3.9208")  # fmt: skip
computed_quantity("median_upper_bound",
    "trimmed_mean_rate * base_of_logarithms ** (student_factor * median_standard_error)", "1",
    "Upper bound of the median of several runs, in the unit of the requirement line.", source="tukey-mclaughlin1963",
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
computed_quantity("bytes_from_gibibytes", "reported_gibibytes * bytes_per_gibibyte", "B",
    "A printed GiB in base units.", source="dlio",
    where="utils/statscounter.py: host_memory_GB is divided by 1024 three times")  # fmt: skip

input_quantity("amount_needed", "1", "Load on a layer, in the unit of its ceiling.", above=False)
input_quantity("amount_available", "1", "Ceiling of a layer, in the unit of its load.")

headroom_fraction = computed_quantity("headroom_fraction", "1 - amount_needed / amount_available", "1",
    "Share of a layer's ceiling that stays free.", low=-float("inf"), high=1,
    example="headroom_fraction(3, 4), headroom_fraction(8, 4) -> (0.25, -1.0)")  # fmt: skip
shortfall_factor = computed_quantity("shortfall_factor", "amount_needed / amount_available", "1",
    "How many times a layer's ceiling would be needed.")  # fmt: skip

input_quantity("value_before", "1", "Value of a quantity in the first of two plans.", above=False)
input_quantity("value_after", "1", "Value of a quantity in the second of two plans.", above=False)

computed_quantity("change_ratio", "value_after / value_before", "1",
    "Value of a quantity in the second of two plans, over its value in the first.",
    needs="value_before value_after")  # fmt: skip

input_quantity("filling_tools", "1", "Load generators that fill data sets of their own.", whole=True)
input_quantity("ballast_level_bytes", "B", "Capacity that the requirement lines want in use during the tests.", above=False)
input_quantity("all_run_seconds", "s", "Time of all runs of all tests.")

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
input_quantity("offered_power", "W", "Power that the offered system draws, as its vendor states it.")
input_quantity("planned_years", "1", "Years over which the costs of an offer count.", whole=True)
input_quantity("electricity_price_per_kwh", "1", "Price of 1 kWh.", above=False)
input_quantity("hours_of_a_year", "1", "Hours of a year of 365 days.", default=8760)
input_quantity("watts_per_kilowatt", "W", "A kilowatt.", default=1000)
input_quantity("lowest_cost", "1", "The lowest cost of all offers that are ranked.")
input_quantity("item_price", "1", "Price of one of an item of an offer.", above=False)
input_quantity("item_count", "1", "How often the price of an item counts: its quantity, or the planned years.", above=False)
input_quantity("item_costs", "1", "Costs of all items of an offer over the planned years.", above=False)
input_quantity("other_points", "1", "Points that an offer earns by the criteria other than the price.")
input_quantity("criterion_points", "1", "Points of a criterion of the award.", above=False)
input_quantity("share_earned", "1", "Share of the points of a criterion that an offer earns.", above=False, high=1)
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
