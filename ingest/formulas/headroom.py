"""Head-room: the share of each layer's ceiling that stays free; below 0 the layer is too narrow."""

from ingest.expression import Num
from ingest.formula import formula, leaf

leaf("headroom_fraction", "1", "Share of the narrowest layer's ceiling that stays free.", low=float("-inf"), high=1)


@formula(unit="1", source="definition")
def host_link_headroom(read_bandwidth_needed: Num, host_links_read_ceiling: Num) -> Num:
    """Share of the links between hosts and GPUs that stays free.

    >>> host_link_headroom(3, 4)
    0.25
    """
    return 1 - read_bandwidth_needed / host_links_read_ceiling


@formula(unit="1", source="definition")
def nvme_headroom(read_bandwidth_needed: Num, nvme_read_ceiling: Num) -> Num:
    """Share of the local drives that stays free.

    >>> nvme_headroom(3, 4)
    0.25
    """
    return 1 - read_bandwidth_needed / nvme_read_ceiling


@formula(unit="1", source="definition")
def nic_headroom(read_bandwidth_needed: Num, nics_read_ceiling: Num) -> Num:
    """Share of the storage NICs that stays free.

    >>> nic_headroom(3, 4)
    0.25
    """
    return 1 - read_bandwidth_needed / nics_read_ceiling


@formula(unit="1", source="definition")
def client_headroom(read_bandwidth_needed: Num, clients_read_ceiling: Num) -> Num:
    """Share of the storage clients while reading that stays free.

    >>> client_headroom(3, 4)
    0.25
    """
    return 1 - read_bandwidth_needed / clients_read_ceiling


@formula(unit="1", source="definition")
def client_write_headroom(write_bandwidth_needed: Num, clients_write_ceiling: Num) -> Num:
    """Share of the storage clients while writing that stays free.

    >>> client_write_headroom(3, 4)
    0.25
    """
    return 1 - write_bandwidth_needed / clients_write_ceiling


@formula(unit="1", source="definition")
def units_read_headroom(read_bandwidth_needed: Num, units_read_ceiling: Num) -> Num:
    """Share of the system while reading that stays free.

    >>> units_read_headroom(3, 4)
    0.25
    """
    return 1 - read_bandwidth_needed / units_read_ceiling


@formula(unit="1", source="definition")
def units_write_headroom(write_bandwidth_needed: Num, units_write_ceiling: Num) -> Num:
    """Share of the system while writing that stays free.

    >>> units_write_headroom(3, 4)
    0.25
    """
    return 1 - write_bandwidth_needed / units_write_ceiling


@formula(unit="1", source="definition")
def nic_write_headroom(write_bandwidth_needed: Num, nics_read_ceiling: Num) -> Num:
    """Share of the storage NICs while writing that stays free.

    >>> nic_write_headroom(3, 4)
    0.25
    """
    return 1 - write_bandwidth_needed / nics_read_ceiling


@formula(unit="1", source="definition")
def requests_headroom(io_per_second_needed: Num, units_requests_ceiling: Num) -> Num:
    """Share of the requests that the system serves that stays free.

    >>> requests_headroom(3, 4)
    0.25
    """
    return 1 - io_per_second_needed / units_requests_ceiling


@formula(unit="1", source="definition")
def opens_headroom(opens_per_second_needed: Num, units_opens_ceiling: Num) -> Num:
    """Share of the files that the system opens that stays free.

    >>> opens_headroom(3, 4)
    0.25
    """
    return 1 - opens_per_second_needed / units_opens_ceiling


@formula(unit="1", source="definition")
def creates_headroom(creates_per_second_needed: Num, units_creates_ceiling: Num) -> Num:
    """Share of the files that the system creates that stays free.

    >>> creates_headroom(3, 4)
    0.25
    """
    return 1 - creates_per_second_needed / units_creates_ceiling


@formula(unit="1", source="definition")
def capacity_headroom(required_usable_bytes: Num, units_usable_bytes: Num) -> Num:
    """Share of the capacity up to the fill limit that stays free.

    >>> capacity_headroom(3, 4)
    0.25
    """
    return 1 - required_usable_bytes / units_usable_bytes


@formula(unit="1", source="definition")
def metadata_servers_headroom(metadata_servers_required: Num, metadata_servers_max: Num) -> Num:
    """Share of the metadata servers that a file system can have that stays free.

    >>> metadata_servers_headroom(3, 4)
    0.25
    """
    return 1 - metadata_servers_required / metadata_servers_max


@formula(unit="1", source="definition")
def nvme_write_headroom(write_bandwidth_needed: Num, nvme_write_ceiling: Num) -> Num:
    """Share of the local drives while writing that stays free.

    >>> nvme_write_headroom(3, 4)
    0.25
    """
    return 1 - write_bandwidth_needed / nvme_write_ceiling


@formula(unit="1", source="definition")
def nvme_capacity_headroom(required_usable_bytes: Num, nvme_capacity: Num) -> Num:
    """Share of the local drives' capacity up to the fill limit that stays free.

    >>> nvme_capacity_headroom(3, 4)
    0.25
    """
    return 1 - required_usable_bytes / nvme_capacity
