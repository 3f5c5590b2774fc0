"""Vector indexes: bytes on disk and in memory, what a build writes, reads of queries, load and rebuild."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities
from ingest.formulas.site_totals import DRAWN, MODEL, totals

input_quantities(__file__)

FILES, DISKANN = "ingest-index-files", "diskann"

computed_quantity("chunk_step_tokens", "chunk_tokens - chunk_overlap_tokens", "token", "Tokens from one chunk to the next.")
computed_quantity("chunks_per_document",
    "maximum(ceil((tokens / documents * one_document - chunk_overlap_tokens) / chunk_step_tokens), 1)",
    "1", "Chunks of a document of mean length.", whole=True,
    needs="tokens documents one_document chunk_overlap_tokens chunk_step_tokens",
    example="chunks_per_document(1_000_000, 1_000, 1, 64, 448) -> 3")  # fmt: skip
computed_quantity("vectors_of_text", "documents / one_document * chunks_per_document", "1",
    "Vectors of a corpus, one for each chunk.", of="vectors", when="text_embedded")  # fmt: skip
computed_quantity("vectors_at_least", "maximum(documents / one_document,"
    " (tokens - documents / one_document * chunk_overlap_tokens) / chunk_step_tokens)", "1",
    "Fewest chunks of a corpus, whatever the lengths of its documents.",
    example="vectors_at_least(1_000, 1, 1_000_000, 64, 448) -> 2089.285714...")  # fmt: skip
computed_quantity("vectors_at_most", "documents / one_document + tokens / chunk_step_tokens", "1",
    "Most chunks of a corpus, whatever the lengths of its documents.",
    example="vectors_at_most(1_000, 1, 1_000_000, 500) -> 3000.0")  # fmt: skip
computed_quantity("chunked_text_bytes",
    "(tokens + (vectors - documents / one_document) * chunk_overlap_tokens) * bytes_per_token", "B",
    "Text of all chunks, overlaps in both of them.", label="text of all chunks",
    needs="tokens vectors documents one_document chunk_overlap_tokens bytes_per_token", of="source_text_bytes",
    when="text_embedded", example="chunked_text_bytes(1_000_000, 3_000, 1_000, 1, 64, 4) -> 4512000.0")  # fmt: skip

# One shard: records of one size, lists and codebooks
computed_quantity("usual_code_parts",
    "maximum(floor(minimum(stored_vector_bytes * code_budget_share / code_part_bytes, vector_dimensions)), 1)", "1",
    "Parts of a code within its budget, at most one for each dimension.", whole=True,
    example="usual_code_parts(3072, 0.125, 1, 768), usual_code_parts(4, 0.125, 1, 1) -> (384, 1)")  # fmt: skip
computed_quantity("code_bytes_per_vector", "code_parts * code_part_bytes", "B", "Code that stands for a vector.")
computed_quantity("usual_lists", "ceil(minimum(4 * shard_vectors ** 0.5, shard_vectors))", "1",
    "Lists that are usual for so many vectors.", source="faiss", where="guidelines: 4 to 16 √n lists", whole=True,
    example="usual_lists(1_000_000) -> 4000")  # fmt: skip
computed_quantity("usual_lists_in_pages", "ceil(minimum(shard_vectors / 1000, shard_vectors ** 0.5))", "1",
    "Lists that are usual for so many vectors in a database.", source="pgvector",
    where="README.md: rows / 1000 up to 1M rows, √rows beyond", whole=True,
    example="usual_lists_in_pages(200_000), usual_lists_in_pages(4_000_000) -> (200, 2000)")  # fmt: skip
computed_quantity("shard_vectors", "vectors / index_shards", "1", "Vectors of one shard.")
computed_quantity("stored_vector_bytes", "vector_dimensions * vector_element_bytes", "B", "A vector in the index.")
computed_quantity("graph_link_bytes", "link_bytes * (2 * index_degree + (index_degree + level_counts) / (index_degree - 1))",
    "B", "Links of a node of HNSW: twice the degree on the lowest level, and the mean of the upper levels.",
    source="malkov2018", where="sec. 4.1: level = ⌊-ln(uniform) / ln M⌋; a node has 1 / (M - 1) upper levels on average",
    label="links of a node", of="record_link_bytes", when="graph_kept",
    example="graph_link_bytes(4, 16, 0) -> 132.26666666666668")  # fmt: skip
computed_quantity("record_bytes", "record_vector_bytes + record_link_bytes + entry_overhead_bytes"
    " + bytes_per_id_digit * ceil(log(maximum(vectors, 2)) / log(2))", "B", "One record of the index.",
    example="record_bytes(512, 128, 16, 0, 1000) -> 656")  # fmt: skip
computed_quantity("list_bytes", "vector_dimensions * centre_element_bytes + list_overhead_bytes", "B",
    "Centre of a list, and what a file keeps of the list beside it.", example="list_bytes(768, 4, 8) -> 3080")  # fmt: skip
computed_quantity("codebook_bytes", "codebook_entries * vector_dimensions * centre_element_bytes", "B",
    "Codebooks of all parts of a vector.")  # fmt: skip
computed_quantity("shard_record_bytes",
    "shard_vectors * record_bytes + index_lists * list_bytes + codebook_bytes + index_header_bytes", "B",
    "Index file of one shard: records, lists, codebooks and header.", source=FILES, of="shard_index_bytes", when="records_kept",
    example="shard_record_bytes(20_000, 24, 256, 520, 131_072, 180) -> 744372")  # fmt: skip

# One shard of DiskANN: nodes in whole sectors, and codes that are held in memory
computed_quantity("node_bytes", "stored_vector_bytes + link_bytes * (index_degree + 1)", "B",
    "Node of DiskANN: the vector, the number of its links, and the links.", source=DISKANN,
    where="src/disk_utils.cpp, create_disk_layout: max_node_len", example="node_bytes(512, 4, 32) -> 644")  # fmt: skip
computed_quantity("nodes_per_sector", "maximum(floor(sector_bytes / node_bytes), 1)", "1", "Nodes of a sector, at least one.",
    example="nodes_per_sector(4096, 644), nodes_per_sector(4096, 6404) -> (6, 1)")  # fmt: skip
computed_quantity("sectors_per_node", "ceil(node_bytes / sector_bytes)", "1", "Sectors that the read of a node takes.",
    example="sectors_per_node(644, 4096), sectors_per_node(6404, 4096) -> (1, 2)")  # fmt: skip
computed_quantity("shard_sector_bytes", "(ceil(shard_vectors / nodes_per_sector) * sectors_per_node + 1) * sector_bytes", "B",
    "Index file of one shard of DiskANN: nodes in whole sectors, and a sector of header.", source=DISKANN,
    where="src/disk_utils.cpp, create_disk_layout", of="shard_index_bytes", when="nodes_in_sectors",
    example="shard_sector_bytes(10_000, 6, 1, 4096), shard_sector_bytes(5_000, 1, 2, 4096) -> (6832128, 40964096)")  # fmt: skip
# One shard in pages of a database: no record, nor the links of a node, is divided
PAGES = "src/hnsw.h, src/hnswbuild.c: CreateGraphPages; src/ivfbuild.c: InsertTuples"
computed_quantity("links_in_page",
    "ceil((page_item_bytes + 2 * index_degree * link_bytes) / page_aligned_bytes) * page_aligned_bytes + page_item_bytes", "B",
    "Links of a node on the lowest level, after a head as large as a pointer.", source="pgvector", where=PAGES,
    of="page_links_bytes", when="graph_in_pages", example="links_in_page(4, 16, 6, 8) -> 204")  # fmt: skip
computed_quantity("page_record_bytes",
    "ceil((stored_vector_bytes + entry_overhead_bytes) / page_aligned_bytes) * page_aligned_bytes + page_item_bytes"
    " + page_links_bytes", "B", "A record in a page, with its links.", source="pgvector", where=PAGES,
    example="page_record_bytes(256, 80, 8, 4, 204) -> 544")  # fmt: skip
computed_quantity("records_of_full_page", "floor(page_room_bytes / page_record_bytes)", "1",
    "Records that a page has room for.", whole=True, above=False, example="records_of_full_page(8_160, 544) -> 15")  # fmt: skip
computed_quantity("levels_of_full_page",
    "floor((page_room_bytes - records_of_full_page * page_record_bytes + page_links_bytes - 2 * page_item_bytes"
    " - 2 * index_degree * link_bytes) / (index_degree * link_bytes))", "1",
    "Upper levels whose links fit in a page beside those of its nodes.", whole=True, above=False,
    example="levels_of_full_page(8_160, 4, 1_824, 204, 4, 16, 6) -> 9")  # fmt: skip
computed_quantity("full_page_share", "where(levels_of_full_page < 3, (1 - 1 / index_degree) ** records_of_full_page"
    " * (1 + where(levels_of_full_page < 1, 0, records_of_full_page / index_degree) + where(levels_of_full_page < 2, 0,"
    " records_of_full_page * (records_of_full_page + 1) / (2 * index_degree ** 2))), 1)", "1",
    "Pages whose nodes have no more upper levels than fit, over all pages.", source="malkov2018",
    where="sec. 4.1: a node has l more levels with a probability of M^-l", high=1,
    example="full_page_share(0, 16, 15), full_page_share(9, 16, 4) -> (0.3798..., 1)")  # fmt: skip
computed_quantity("nodes_per_page",
    "where(records_of_full_page < 1, 1 / 2, where(records_of_full_page < 2, 1 / (2 - full_page_share),"
    " (records_of_full_page - 1 + full_page_share + 1 / (full_page_share / maximum(records_of_full_page, 1)"
    " + (1 - full_page_share) / maximum(records_of_full_page - 1, 1))) / 2))", "1",
    "Nodes of a page on average: one less where upper levels do not fit; of a node without room, its links have the next page.",
    source="ingest-index-files", where="within 0.6 % of drawn levels for 16 links and more", of="records_per_page",
    when="graph_in_pages", example="nodes_per_page(15, 0.38), nodes_per_page(1, 1), nodes_per_page(0, 1) -> "
    "(14.371..., 1.0, 0.5)")  # fmt: skip
computed_quantity("shard_graph_pages_bytes", "(1 + ceil(shard_vectors / records_per_page)) * index_page_bytes", "B",
    "Index of one shard in pages: nodes with their links, and a page of header.", source="pgvector", where=PAGES,
    of="shard_index_bytes", when="graph_in_pages",
    example="shard_graph_pages_bytes(1_000, 0.5, 8_192) -> 16392192")  # fmt: skip
computed_quantity("records_of_list_page", "maximum(records_of_full_page, 1)", "1", "Vectors in a full page of a list.",
    example="records_of_list_page(29) -> 29")  # fmt: skip
computed_quantity("filled_lists", "maximum(floor(shard_vectors / (records_of_list_page * filled_pages)), 1)", "1",
    "Most lists that fill so many pages; one list of any size.", whole=True,
    example="filled_lists(1_200, 30, 4) -> 10")  # fmt: skip
computed_quantity("shard_list_pages_bytes",
    "(1 + ceil(index_lists / records_of_list_page) + ceil(shard_vectors / records_of_list_page"
    " + where(index_lists < 2, 0, index_lists * (records_of_list_page - 1) / (2 * records_of_list_page)))) * index_page_bytes",
    "B", "Index of one shard in pages: header, centres, and lists of which each ends within a page, at its middle on average.",
    source="pgvector", where=PAGES, of="shard_index_bytes", when="lists_in_pages",
    example="shard_list_pages_bytes(16, 29, 12_000, 8_192) -> 3473408")  # fmt: skip
computed_quantity("codes_of_shards",
    "vectors * code_bytes_per_vector + index_shards * (codebook_bytes + vector_dimensions * centre_element_bytes"
    " + (code_parts + 1) * link_bytes + index_header_bytes)", "B",
    "Codes of all vectors, and the codebook of each shard with its centre, its parts and its headers.", source=DISKANN,
    where="pq_compressed.bin and pq_pivots.bin", label="codes and codebooks",
    example="codes_of_shards(2_000, 512, 1, 786_432, 768, 4, 512, 4, 4_128) -> 1819684")  # fmt: skip

# The index
computed_quantity("index_of_shards", "shard_index_bytes * index_shards", "B", "One copy of the index: all its shards.",
    label="index", of="index_bytes", when="vectors_indexed")  # fmt: skip
computed_quantity("navigation_in_memory", "navigation_bytes + resident_index_bytes + cached_nodes * read_node_bytes", "B",
    "Memory of one copy of an index on storage: its codes or centres, and the nodes that are cached.",
    example="navigation_in_memory(3, 5, 2, 7) -> 22")  # fmt: skip
computed_quantity("lists_of_shards", "index_shards * (index_lists * list_bytes + codebook_bytes)", "B",
    "Centres of the lists and codebooks of all shards.", of="resident_index_bytes", when="lists_on_storage",
    example="lists_of_shards(3, 5, 2, 7) -> 51")  # fmt: skip
computed_quantity("memory_bytes", "memory_of_copy * index_replicas", "B", "Memory of all copies of the index.",
    label="memory")  # fmt: skip
computed_quantity("build_files_of_graph",
    "vectors * (stored_vector_bytes + link_bytes * (index_degree + 1)) + index_shards * build_header_bytes", "B",
    "Vectors and graph that DiskANN writes before it lays out the index.", source=DISKANN,
    where="mem.index and mem.index.data", example="build_files_of_graph(2_000, 3_072, 4, 48, 1, 32) -> 6536032")  # fmt: skip
computed_quantity("build_scratch_bytes", "build_files_bytes + index_bytes + navigation_bytes", "B",
    "Room for a build: its own files, and the new index while the old one answers.", label="build scratch",
    example="build_scratch_bytes(3, 5, 2) -> 10")  # fmt: skip
computed_quantity("source_of_vectors",
    "source_text_bytes + vectors * (vector_dimensions * source_element_bytes + metadata_bytes_per_vector)", "B",
    "Text, vectors and metadata that the index is made from.", label="source", of="source_bytes", when="vectors_indexed",
    example="source_of_vectors(3, 1_000_000, 768, 7, 3) -> 5379000003")  # fmt: skip
computed_quantity("stored_copies", "index_replicas", "1", "Copies of the index on shared storage.", whole=True)
computed_quantity("index_copy_bytes", "index_bytes + navigation_bytes", "B", "All files of one copy of the index.")
computed_quantity("indexed_bytes_held", "source_bytes + index_copy_bytes * stored_copies + build_scratch_bytes", "B",
    "Data held: source, the copies of the index on shared storage, and room for a build.", label="data held with the index",
    of="usable_bytes", when="vectors_indexed", example="indexed_bytes_held(3, 7, 7, 3) -> 55")  # fmt: skip

computed_quantity("share_of_cached_nodes", "cached_nodes / vectors", "1",
    "Least share of the reads that cached nodes answer: nodes near the entry are cached, and read most.", above=False, high=1,
    of="cached_read_share", when="nodes_in_sectors")  # fmt: skip
computed_quantity("expanded_nodes", "search_list * reads_per_candidate * index_shards", "1",
    "Nodes that a query expands, each with one read: every shard is searched.")  # fmt: skip
computed_quantity("reads_of_lists", "probed_lists * reads_per_list * index_shards", "1",
    "Reads of the lists that a query probes, in every shard.", label="reads of lists")  # fmt: skip
computed_quantity("missed_index_reads", "index_reads_per_query * (1 - cached_read_share)", "1",
    "Reads of the index by one query that memory does not answer.", above=False,
    example="missed_index_reads(200, 0.5) -> 100.0")  # fmt: skip
computed_quantity("stored_index_reads", "missed_index_reads", "1", "Reads of the index on storage by one query.", above=False)
computed_quantity("reads_per_query", "stored_index_reads + fetched_records", "1", "Reads of storage by one query.", above=False)
computed_quantity("node_request_bytes", "sectors_per_node * sector_bytes", "B", "Read of a node: whole sectors.")
computed_quantity("list_request_bytes", "(record_bytes * shard_vectors / index_lists + list_overrun_bytes) / reads_per_list",
    "B", "Mean read of a list of mean length.", of="index_request_bytes", when="lists_on_storage",
    example="list_request_bytes(18, 60_000, 64, 6_000, 2) -> 11437.5")  # fmt: skip
computed_quantity("read_requests_per_second", "queries_per_second * reads_per_query", "1/s", "Random reads of all queries.",
    label="random reads", above=False)  # fmt: skip
computed_quantity("fetched_record_bytes", "ceil(source_bytes / vectors / read_block_bytes) * read_block_bytes", "B",
    "Read of a record beside the index.", example="fetched_record_bytes(5_000_000_000, 1_000_000, 4_096) -> 8192")  # fmt: skip
computed_quantity("bytes_of_index_reads", "stored_index_reads * index_request_bytes", "B",
    "Bytes of the index that a query reads from storage.", above=False, of="query_index_bytes",
    when="index_on_storage")  # fmt: skip
computed_quantity("query_read_bytes", "query_index_bytes + fetched_records * fetched_record_bytes", "B",
    "Bytes that a query reads from storage.", above=False, example="query_read_bytes(3, 5, 2) -> 13")  # fmt: skip
computed_quantity("query_request_bytes", "query_read_bytes / reads_per_query", "B", "Mean read of a query.",
    label="size of a read", of="request_bytes", when="vectors_indexed")  # fmt: skip
computed_quantity("query_read_bandwidth", "queries_per_second * query_read_bytes", "B/s", "Read bandwidth of all queries.",
    label="read bandwidth of queries", above=False, of="read_bandwidth", when="vectors_indexed")  # fmt: skip
computed_quantity("outstanding_queries", "queries_per_second * query_latency", "1",
    "Queries that are answered at the same time.", source="little1961", where="number = arrival rate × time")  # fmt: skip
computed_quantity("latency_budget", "query_latency / ceil((missed_index_reads / index_shards + fetched_records) / beam_width)",
    "s", "Time for one read, where a query waits for a beam of reads at a time, in all shards at once.",
    label="latency budget of a read", example="latency_budget(0.02, 180, 2, 10, 4) -> 0.0008")  # fmt: skip

alternative("load_seconds", "index_load_seconds", when="vectors_indexed")
computed_quantity("load_seconds_at_rate", "loaded_index_bytes * index_replicas / index_load_bandwidth", "s",
    "Time in which all copies have read what they hold in memory, at a bandwidth.")  # fmt: skip
computed_quantity("load_bandwidth_in_time", "loaded_index_bytes * index_replicas / index_load_seconds", "B/s",
    "Read bandwidth that loads all copies in a time.", of="index_load_bandwidth", when="index_load_time_known")  # fmt: skip
computed_quantity("rebuild_write_bandwidth",
    "(index_copy_bytes * stored_copies + build_files_bytes) * rebuilds_per_day / seconds_per_day", "B/s",
    "Writes of rebuilds and compaction, spread over the day.", label="mean writes of rebuilds",
    example="rebuild_write_bandwidth(8, 2, 7, 3, 5) -> 13.8")  # fmt: skip
computed_quantity("ingest_vectors_per_second",
    "gpus * peak_flops_per_gpu * model_flops_utilization / (embedding_flops_per_token * chunk_tokens)", "1/s",
    "Vectors that GPUs embed in a second.", label="vectors embedded per second")  # fmt: skip

# A site: each load is the smaller of what the index needs and what its nodes draw
computed_quantity("query_block_bytes", "ceil(request_bytes / read_block_bytes) * read_block_bytes", "B",
    "Mean read of a query, in whole blocks.", label="size of a read in whole blocks",
    example="query_block_bytes(5_000, 4_096) -> 8192")  # fmt: skip
computed_quantity("query_readers_per_node",
    "ceil(queries_per_second * query_latency * beam_width * where(stored_index_reads > 0, index_shards, 1) / nodes"
    " * single_node) / single_node", "1/node", "Reads that the queries of one node have outstanding.", source="little1961",
    where="number = arrival rate × time", example="query_readers_per_node(1_000, 0.02, 4, 100, 2, 4, 1) -> 40.0")  # fmt: skip
computed_quantity("job_query_bandwidth", "minimum(read_requests_per_second * query_block_bytes, job_drawable_bandwidth)", "B/s",
    "Random reads of the queries of an index, in whole blocks.", source=MODEL, where=DRAWN, above=False,
    label="reads of the queries of the index",
    example="job_query_bandwidth(50_000, 8_192, 72e9), job_query_bandwidth(5e6, 8_192, 10e9) -> (409600000, 10000000000.0)"
)  # fmt: skip
computed_quantity("grown_query_bandwidth", "read_requests_per_second * query_block_bytes * bandwidth_growth", "B/s",
    "Random reads of the queries of an index now: queries grow, the reads of each stay.", source=MODEL,
    where="reads per query stay", above=False, of="job_query_bandwidth", when="queries_grow")  # fmt: skip
computed_quantity("job_index_load_bandwidth", "minimum(index_load_bandwidth * index_growth, job_drawable_bandwidth)", "B/s",
    "Reads of all copies of an index that start, in the last year of the plan.", source=MODEL, where=DRAWN, above=False,
    label="reads of starting copies", example="job_index_load_bandwidth(2e9, 3, 72e9) -> 6000000000.0")  # fmt: skip
computed_quantity("job_rebuild_bandwidth", "minimum(rebuild_write_bandwidth * index_growth, job_drawable_bandwidth)", "B/s",
    "Writes of rebuilds of an index, spread over the day, in the last year of the plan.", source=MODEL, where=DRAWN,
    above=False, label="writes of rebuilds of the index",
    example="job_rebuild_bandwidth(2e9, 3, 72e9) -> 6000000000.0")  # fmt: skip
computed_quantity("job_index_bytes", "indexed_bytes_held * index_growth", "B",
    "Data held of an index in the last year of the plan.", label="data held with the index in the last year")  # fmt: skip
computed_quantity("index_bytes_per_day", "rebuild_write_bandwidth * seconds_per_day", "B",
    "Bytes that rebuilds of an index write in a day.", above=False, label="index written per day")  # fmt: skip
# An index on the drives of its nodes, which hold the new one beside the old
computed_quantity("local_index_read_bandwidth", "queries_per_second * missed_index_reads * index_request_bytes / nodes",
    "B/s/node", "Random reads of the queries of an index on the NVMe of one node.", above=False,
    label="reads of index queries on the NVMe of a node")  # fmt: skip
computed_quantity("local_index_write_bandwidth", "job_index_load_bandwidth / nodes", "B/s/node",
    "Writes of starting copies of an index to the NVMe of one node.", above=False,
    label="writes of starting copies to the NVMe of a node")  # fmt: skip
alternative("node_kept_bytes", "local_index_bytes", when="index_on_nodes")
computed_quantity("local_index_bytes", "index_copy_bytes * index_replicas * copies_on_drives * index_growth / nodes", "B/node",
    "Index on the NVMe of one node, the new one beside the old, in the last year of the plan.",
    label="index on the NVMe of a node")  # fmt: skip
computed_quantity("local_index_bytes_per_day", "index_copy_bytes * index_replicas * rebuilds_per_day * index_growth / nodes",
    "B/node", "Index that the NVMe of one node takes in a day, in the last year of the plan.", above=False,
    label="index written to the NVMe of a node per day")  # fmt: skip
totals(query="Random reads of index queries", index_load="Reads of starting indexes", rebuild="Writes of index rebuilds")
computed_quantity("site_index_bytes", "total(job_index_bytes_of_jobs)", "B",
    "Vector indexes on storage, with what they are made from.", above=False, label="vector indexes on storage")  # fmt: skip
