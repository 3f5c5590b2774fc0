"""Vector indexes: bytes on disk and in memory, what a build writes, reads of queries, load and rebuild."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities
from ingest.formulas.site_totals import totals

input_quantities(__file__)

FILES, DISKANN = "ingest-index-files", "diskann"

computed_quantities(__file__)

# One shard in pages of a database: no record, nor the links of a node, is divided
PAGES = "src/hnsw.h, src/hnswbuild.c: CreateGraphPages; src/ivfbuild.c: InsertTuples"

alternative("load_seconds", "index_load_seconds", when="vectors_indexed")
alternative("node_kept_bytes", "local_index_bytes", when="index_on_nodes")
totals(query="Random reads of index queries", index_load="Reads of starting indexes", rebuild="Writes of index rebuilds")
