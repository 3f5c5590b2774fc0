"""A job as it was seen: counters, logs and traces read, steady windows found, figures with their coverage."""
