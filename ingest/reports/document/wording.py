"""The words of a tender that do not depend on the site."""

from __future__ import annotations

SCOPE = (
    "This document states what the storage system shall deliver so that the training jobs described in section 2 "
    "never wait for data, can save and restore their state in time, and find room for their data sets. Each "
    "requirement has an identifier that is the same here, in the workbook, in the acceptance tests and in the "
    "response form."
)
KEYWORDS = (
    (
        "shall",
        "mandatory: an offer that does not meet it is excluded; it is verified by its test in section 10, or by "
        "inspection where it has none.",
    ),
    ("should", "target: it is scored; an offer states what it delivers."),
    ("for information", "describes the workload; it is not scored."),
    ("the offeror shall describe", "a narrative answer is expected, with evidence."),
    ("to be set by buyer", "the workload does not determine this value; the buyer fills it in before publication."),
)
UNITS = (
    "Bandwidth is in bytes per second: 1 GB/s = 10^9 B/s, with the binary unit (1 GiB/s = 2^30 B/s) in brackets. "
    "Capacity is usable capacity after data protection and file-system overhead, below the fill limit, in decimal "
    "units. A value without its conditions (clients, threads, size of a request, pattern, duration, fill, caching) is"
    " not a valid answer."
)
WORKLOADS = (
    "The requirements follow from the jobs below. Rates per GPU rest on published measurements where they exist; "
    "their source and range are listed in section 12, their derivation in appendix A."
)
OVERLAP = (
    "Reads and checkpoint writes are required at the same time only where the site says that they overlap; both their"
    " sum and the larger of the two are stated."
)
CAPACITY = (
    "Capacity is required as usable capacity. Raw capacity is given for orientation only: the offeror chooses the "
    "protection scheme and shall state its overhead, the number of failures that it tolerates, and the usable "
    "capacity that remains."
)
CHECKPOINTS = (
    "A checkpoint is complete when all of its bytes are on storage that survives the failure of any client. Write "
    "bandwidth is that of all writers together; restart bandwidth is what brings all readers of one restart home in "
    "the time allowed."
)
METADATA = (
    "The offeror shall describe how metadata rates scale with the number of directories and clients, and how one "
    "client is kept from starving the others (quality of service)."
)
RESILIENCE = (
    ("Availability of the service, as a share of the year", "to be set by buyer"),
    ("Probability of data loss in a year", "to be set by buyer"),
    ("Performance that remains while a failed unit is rebuilt, as a share of section 3", "to be set by buyer"),
    ("Time in which the redundancy of a failed unit is restored", "to be set by buyer"),
    ("Latency of a single read at the load of section 3 (median, 99th percentile)", "to be set by buyer"),
)
PROTOCOLS = (
    "The offeror shall describe the client software that reaches the stated bandwidth per client, its versions, the "
    "kernel and operating systems that it supports, and what it consumes of the client's CPU and memory.",
    "The offeror shall describe authentication, encryption in flight and at rest, and the separation of projects, "
    "each with its effect on the values of section 3.",
    "The offeror shall describe monitoring (bandwidth, requests and latency per client and per job), quotas, and "
    "upgrades without interruption.",
)
GROWTH = (
    "The offeror shall state the smallest unit of expansion, what it adds in usable capacity and in bandwidth, and "
    "its price, valid for the years of the plan, and how each step of the table below is reached. Prices per usable "
    "PB and per GB/s of read bandwidth are to be quoted separately."
)
ACCEPTANCE = (
    "Each mandatory performance requirement is verified by the test below after delivery, on the delivered system, at"
    " the stated fill. Reads are not served from caches: the data read are at least five times the memory of the "
    "clients that take part, and were written by other clients. Read and write values come from the same "
    "configuration. Each test is repeated as often as the table says, with one of the tools "
    "named there; the lowest run counts."
)
SENSITIVITY = (
    "The table shows what a requirement becomes where one input is at its low and at its high end and all others are "
    "at their typical value: the inputs that the buyer should confirm first."
)
DERIVATIONS = (
    "Each line can be recomputed by hand from the lines indented below it. What an earlier requirement has derived is "
    "not repeated: the line names that requirement."
)
INFORMATION = (
    "These values describe the workload. They are not required and not scored: what they ask for is met by any system "
    "that meets the requirements, or too little to size one by."
)
RESPONSE = (
    "The offeror answers in the workbook, sheet Vendor response: for each identifier whether it is met (yes, no, "
    "partial), the value as delivered and, where it differs, with tuning that needs no privileges; whether it was "
    "measured or projected; on how many clients with how much memory; with which software; and the log file that "
    "shows it. Values are in the unit of the line."
)
