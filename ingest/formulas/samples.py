"""Samples of a data set as they lie on storage: how many, how large."""

from ingest.expression import Num
from ingest.formula import formula, input_quantity

input_quantity("samples", "sample", "Samples that were counted: images, records, rows, or files.", above=False, whole=True)
input_quantity("sample_files", "file", "Files that hold these samples.", above=False, whole=True)
input_quantity("sample_files_bytes", "B", "Stored bytes of the files of samples, framing included.", above=False, whole=True)


@formula(unit="B/sample", source="definition")
def mean_sample_bytes(sample_files_bytes: Num, samples: Num) -> Num:
    """Mean stored bytes of one sample with its share of the framing: bytes that one epoch reads, over the samples.

    >>> mean_sample_bytes(146_600_628_224, 1_281_167)
    114427.4...
    """
    return sample_files_bytes / samples


@formula(unit="sample/file", source="definition")
def mean_samples_per_file(samples: Num, sample_files: Num) -> Num:
    """Mean samples that one file holds.

    >>> mean_samples_per_file(1_281_167, 1_024)
    1251.1...
    """
    return samples / sample_files


@formula(unit="B/file", source="definition")
def mean_file_bytes(sample_files_bytes: Num, sample_files: Num) -> Num:
    """Mean size of a file.

    >>> mean_file_bytes(146_600_628_224, 1_024) / 1e6
    143.16...
    """
    return sample_files_bytes / sample_files
