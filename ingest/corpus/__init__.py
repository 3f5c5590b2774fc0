"""Measuring a corpus: listing and reading it, counting its tokens, sampling it, spreading the work."""
