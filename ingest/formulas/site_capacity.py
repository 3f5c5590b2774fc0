"""Capacity of a site, the writes that its media endure year by year, and the floor of a reference architecture."""

from ingest.engine.registry import alternative, computed_quantities, computed_quantity, input_quantities
from ingest.formulas.site_totals import columns

input_quantities(__file__)
computed_quantities(__file__)

# The archive tier
columns("archived", "B", "dataset_bytes_held")
columns("archived", "B/s", "dataset_load_bandwidth dataset_refresh_bandwidth dataset_preparation_write_bandwidth")
columns("recalled", "B/s", "dataset_preparation_bandwidth")
columns("years", "B", "year_archive_bytes")
columns("years", "B/s", "year_archive_write_bandwidth year_archive_read_bandwidth")

# What the bytes of a year follow from where the site keeps more than data sets and checkpoints
alternative("year_usable_bytes", "year_bytes_with_tiers", when="tiers_shared")
alternative("year_usable_bytes", "year_bytes_with_scratch", when="data_prepared")
alternative("year_bytes_written_per_day", "year_writes_with_tiers", when="tiers_shared")
alternative("year_bytes_written_per_day", "year_writes_with_scratch", when="data_prepared")

for _way, _made in (("read", "Read"), ("write", "Write")):
    computed_quantity(f"cluster_{_way}_floor",
        f"minimum(cluster_gpus, guidance_scale) * guidance_{_way}_bandwidth_per_gpu", "B/s",
        f"{_made} bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.",
        label=f"{_way}s of the guidance for a cluster",
        example=f"cluster_{_way}_floor(512, 1024, 15e9 / 256), cluster_{_way}_floor(16_384, 1024, 15e9 / 256)"
            " -> (30000000000.0, 60000000000.0)")  # fmt: skip
    computed_quantity(f"site_{_way}_floor", f"total(cluster_{_way}_floor_of_clusters)", "B/s",
        f"{_made} bandwidth that the guidance asks for, for all clusters of the site.",
        label=f"{_way}s of the guidance")  # fmt: skip

for _end, _most in (("least", "Least"), ("most", "Most")):
    computed_quantity(f"practice_{_end}_writes", f"cluster_gpus * practice_{_end}_per_gpu", "B/s",
        f"{_most} checkpoint write bandwidth observed in large runs, for so many GPUs.",
        label=f"{_end} writes in practice")  # fmt: skip
