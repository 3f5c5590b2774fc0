"""Clauses of the RFP document that do not depend on the site."""

from __future__ import annotations

SCOPE = (
    "This document states what the storage system shall deliver so that the training jobs described in section 2 "
    "never wait for data, can save and restore their state in time, and find room for their data sets. Each "
    "requirement has one identifier, used in this document, the workbook, the acceptance tests and the response form."
)
KEYWORDS = (
    (
        "shall",
        "mandatory: an offer that does not meet it is excluded; it is verified by its test in section 10, or by "
        "inspection where it has none.",
    ),
    ("should", "target: it is scored, and excludes no offer; the Vendor shall state the value that is delivered."),
    ("for information", "describes the workload; it is not scored."),
    ("the Vendor shall describe", "a narrative answer is expected, with evidence."),
    ("to be set by buyer", "the workload does not determine this value; the buyer fills it in before publication."),
)
TERMS = (
    ("client", "a node of the cluster that reaches the storage with the client software of the offer."),
    ("sustain", "reach as the mean over the stated duration, summed over all clients of a test that run at the same time."),
    (
        "uncached",
        "the data that a test reads are at least five times the memory of its clients, and other clients have written them.",
    ),
    (
        "usable capacity",
        "what data can take after data protection and file-system overhead, all of it; raw capacity is before both.",
    ),
    ("fill", "the share of the usable capacity that holds data; a test at a fill runs while that share is in use."),
    ("fill limit", "the largest fill in operation; R-CAP-01 asks for the data that the system holds at it."),
    ("range", "what the value becomes where the inputs vary as their sources do (P10 to P90); the value binds, not the range."),
)
UNITS = (
    "Bandwidth is in bytes per second: 1 GB/s = 10⁹ B/s, with the binary unit (1 GiB/s = 2³⁰ B/s) in brackets; where "
    "rounding makes the two differ, the decimal value binds, as printed. Data and capacities are in bytes: 1 PB = 10¹⁵ B; a "
    "required amount of data counts each byte once, without protection and overhead. A value that was reached under other "
    "conditions than those stated (clients, threads, size of a request, pattern, duration, fill, caching) is not a valid "
    "answer."
)
WORKLOADS = (
    "The requirements follow from the jobs below. Rates per GPU rest on published measurements where they exist; "
    "section 12 lists their sources, appendix A how each requirement follows from them."
)
OVERLAP = (
    "R-MIX-01 is the sum of reads and checkpoint writes that coincide, R-MIX-02 the larger of the two where they "
    "alternate. The line that describes the site is a requirement, unless its value is below the reporting threshold; "
    "the other line is for information."
)
CAPACITY = (
    "Capacity is required as the data that the system holds at the fill limit; the usable capacity offered is that "
    "amount divided by the fill limit, or more. Raw capacity is given for orientation only: the Vendor chooses the "
    "protection scheme and shall state its overhead, the number of failures that it tolerates, and the usable "
    "capacity that remains after them."
)
CHECKPOINTS = (
    "A checkpoint is complete when all of its bytes are on storage that survives the failure of any client. Write "
    "bandwidth is the aggregate of all writers; restore bandwidth is the aggregate of all readers, so that the last of "
    "them has its part of the checkpoint within the time allowed."
)
METADATA = (
    "The Vendor shall describe how metadata rates scale with the number of directories and clients, and how one "
    "client is kept from starving the others (quality of service)."
)
SET_BY_BUYER = (
    "The Vendor shall state what the offer reaches for each line of the table. Where the buyer has set a value, the "
    "offer shall reach it."
)
RESILIENCE = (
    ("Availability of the service, as a share of the year", "to be set by buyer"),
    ("Probability of data loss in a year", "to be set by buyer"),
    ("Performance that remains while a failed unit is rebuilt, as a share of section 3", "to be set by buyer"),
    ("Period of the warranty, for R-END-01 and all else", "to be set by buyer"),
    ("Time in which the redundancy of a failed unit is restored", "to be set by buyer"),
    ("Latency of a single read at the load of section 3 (median, 99th percentile)", "to be set by buyer"),
)
PROTOCOLS = (
    "The Vendor shall describe the client software that reaches the stated bandwidth per client, its versions, the "
    "kernel and operating systems that it supports, and what it consumes of the client's CPU and memory.",
    "The Vendor shall describe authentication, encryption in flight and at rest, and the separation of projects, "
    "each with its effect on the values of section 3.",
    "The Vendor shall describe monitoring (bandwidth, requests and latency per client and per job), quotas, and "
    "upgrades without interruption.",
)
GROWTH = (
    "The Vendor shall state the smallest unit of expansion, what it adds in usable capacity and in bandwidth, and "
    "its price, valid for the years of the plan, and how each step of the table below is reached. The Vendor shall "
    "quote prices per PB of usable capacity and per GB/s of read bandwidth separately."
)
ACCEPTANCE = (
    "The tests below shall be run after delivery, on the delivered system, at the fill that their requirement states. "
    "Reads shall be uncached, as section 1 defines it. All tests shall be run in the same configuration of the system. "
    "Each test shall be run as often as the table says, with one of the tools named there. It is passed where the median "
    "of its runs reaches the last column and no run is more than {deviation} below it. A test of several loads runs "
    "them at the same time, and is passed where each of them is. A test of growth (T-GROW) shall be run when the expansion "
    "that it asks for is delivered."
)
INSPECTION = (
    "The requirements of the next table have no performance test. They shall be verified by inspection at acceptance, on "
    "the delivered system, by what the table names; the Vendor shall hand it over in writing."
)
ASSUMED = "The requirements rest on {count} values that were assumed, not measured. The table says why each was chosen."
SENSITIVITY = (
    "The table shows each requirement with one input at its low and at its high end and all others at their typical value."
)
DERIVATIONS = (
    "Each line can be recomputed by hand from the lines indented below it. A part that an earlier requirement has derived "
    "is not repeated: the line names that requirement."
)
INFORMATION = (
    "These values describe the workload. They are neither required nor scored: any system that meets the requirements "
    "meets them too, or they are too small to size a system by."
)
RESPONSE = (
    "The Vendor shall answer in the sheet Vendor response of the workbook; the tables below show the same form for "
    "reference. For each mandatory requirement and each target the Vendor shall state whether it is met (yes, no, "
    "partial); the value as delivered and, where it differs, the value with tuning that needs no privileges; whether "
    "the values were measured or projected; on how many clients with how much memory; with which software; and the log "
    "file that shows it. Each value shall be a plain number in the unit of its line in that sheet."
)
