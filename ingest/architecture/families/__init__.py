"""One function per model family, registered under its `model_type`s: config -> rows of weights."""
