"""Names and stripes: metadata servers for files, opens and creates; what one striped file delivers."""

from ingest.expression import Num, ceil, maximum, minimum
from ingest.formula import formula, input_quantity

# A striped file
input_quantity("file_stripes", "1", "Storage targets that one file is spread over.", whole=True)
input_quantity("target_bandwidth", "B/s", "Bandwidth of one storage target.")
input_quantity("file_clients", "1", "Clients that read one file at once.", whole=True)
input_quantity("file_client_bandwidth", "B/s", "Read bandwidth of one client.")

# Metadata servers
input_quantity("files_per_metadata_server", "file", "Files that one metadata server can hold.")
input_quantity("creates_per_metadata_server", "file/s", "Files that one metadata server creates each second.")
input_quantity("opens_per_metadata_server", "file/s", "Files that one metadata server opens each second.")
input_quantity("metadata_servers_max", "1", "Metadata servers that one file system can have.", whole=True)


@formula(unit="1", source="definition")
def metadata_servers_for_files(files_needed: Num, files_per_metadata_server: Num) -> Num:
    """Metadata servers that hold the names of the files.

    >>> metadata_servers_for_files(10e9, 4e9)
    3
    """
    return ceil(files_needed / files_per_metadata_server)


@formula(unit="1", source="definition")
def metadata_servers_for_creates(creates_per_second_needed: Num, creates_per_metadata_server: Num) -> Num:
    """Metadata servers that create the files fast enough.

    >>> metadata_servers_for_creates(200_000, 50_000)
    4
    """
    return ceil(creates_per_second_needed / creates_per_metadata_server)


@formula(unit="1", source="definition")
def metadata_servers_for_opens(opens_per_second_needed: Num, opens_per_metadata_server: Num) -> Num:
    """Metadata servers that open the files fast enough.

    >>> metadata_servers_for_opens(292_556, 200_000)
    2
    """
    return ceil(opens_per_second_needed / opens_per_metadata_server)


@formula(unit="1", source="definition")
def metadata_servers_required(
    metadata_servers_for_files: Num, metadata_servers_for_creates: Num, metadata_servers_for_opens: Num
) -> Num:
    """Metadata servers for holding, creating and opening at once.

    >>> metadata_servers_required(3, 4, 2)
    4
    """
    return maximum(maximum(metadata_servers_for_files, metadata_servers_for_creates), metadata_servers_for_opens)


@formula(unit="B/s", source="definition")
def file_bandwidth(file_stripes: Num, target_bandwidth: Num, file_clients: Num, file_client_bandwidth: Num) -> Num:
    """Bandwidth of one striped file: that of its targets or of its clients, whichever is less.

    >>> file_bandwidth(1, 2e9, 4, 5e9), file_bandwidth(16, 2e9, 4, 5e9)
    (2000000000.0, 20000000000.0)
    """
    return minimum(file_stripes * target_bandwidth, file_clients * file_client_bandwidth)
