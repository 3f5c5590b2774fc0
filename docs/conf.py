"""Sphinx settings; the build reads nothing from the network."""

from ingest import __version__

project = "ingest"
author = "The ingest authors"
copyright = "The ingest authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build", "examples"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_title = f"ingest {__version__}"
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
