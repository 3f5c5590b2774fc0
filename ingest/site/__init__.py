"""A whole site in one YAML file: what it asks of storage, line by line."""
