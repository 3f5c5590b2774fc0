"""A data set on storage: stages, copies, inodes and metadata, and what its file format adds."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities

input_quantities(__file__)

alternative("clean_bytes", "samples_bytes", when="holds_samples")
alternative("extracted_bytes", "extracted_bytes_of_tokens", when="share_of_bytes_unknown", optional=True)

# Another encoding or size of the samples makes another data set.
alternative("dataset_bytes", "samples_bytes", when="path_judged", optional=True)
alternative("dataset_bytes", "sample_files_bytes", when="samples_measured")

computed_quantities(__file__)
