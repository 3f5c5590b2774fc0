"""Sphinx settings; the build reads nothing from the network."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from ingest import __version__

sys.path.insert(0, str(Path(__file__).parent))  # the parser of notebooks is next to this file

project = "ingest"
author = "The ingest authors"
copyright = "The ingest authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.githubpages"]
exclude_patterns = ["_build", "examples"]
# `make linkcheck`: citations of papers and vendors answer slowly, or refuse programs.
linkcheck_timeout, linkcheck_retries, linkcheck_workers = 20, 2, 8
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_title = f"ingest {__version__}"
html_copy_source = False
html_show_sphinx = False
NOT_SEARCHED = r"decisions/|reference/(formulas|gpus|models|nodes|quantities|releases|sources|storage|corpora)|man/"
pygments_style = "default"


def leave_out_of_search(_: Sphinx, env: BuildEnvironment) -> None:
    """Find what pages say, not each row of a catalog: of decisions and long generated tables, only titles are searched."""
    for name in env.found_docs:
        if re.match(NOT_SEARCHED, name):
            env.metadata[name]["nosearch"] = ""


def setup(app: Sphinx) -> None:
    """Read notebooks, each of which is run."""
    from notebook_parser import NotebookParser

    app.connect("env-updated", leave_out_of_search)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
