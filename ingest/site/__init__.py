"""A site file with all jobs and data sets, and its storage requirements."""
