"""One job, one cluster and one data set of a site. Totals are in `site_totals`."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities
from ingest.formulas.site_totals import columns

input_quantities(__file__)

alternative("job_read_bandwidth", "started_read_bandwidth", when="data_read", optional=True)

computed_quantities(__file__)

columns("sources", "1", "source_weight")
columns("sources", "B", "source_bytes")
columns("sources", "sample", "source_samples")
columns("sources", "B/sample", "weighted_sample_bytes")
columns("sources", "B/token", "weighted_token_bytes")
columns("sources", "file/sample", "weighted_files")

columns("growing", "B", "bytes_at_start")
