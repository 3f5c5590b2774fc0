"""The version of this package and of the files that it writes, for whoever needs them and nothing else."""

__version__ = "0.1.0"

#: The format of site files, plans and issued response forms; 1 is that of files that carry none.
FORMAT = 3


def newer(found: object) -> str:
    """Why a file of a format that is not known yet cannot be read; empty for a known format.

    >>> newer(3), newer(4)
    ('', 'found format 4, expected at most 3: a newer version of ingest has written it')
    """
    known = not isinstance(found, (int, float)) or found <= FORMAT
    return "" if known else f"found format {found}, expected at most {FORMAT}: a newer version of ingest has written it"
