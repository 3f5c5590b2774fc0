"""One model of a document and its renderings: Markdown, HTML, Word. Each takes results, none computes."""
