"""How a storage system fits a need. The systems themselves are data: one YAML file each in `catalogs/storage/`."""
