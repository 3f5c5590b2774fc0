"""Results as pages and files: each part takes results, none computes."""
