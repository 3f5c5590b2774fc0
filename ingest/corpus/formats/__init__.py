"""One module per family of formats: each takes a stream and yields documents, whole or in pieces."""
