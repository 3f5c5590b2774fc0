"""Advice of other commands, in the words of a site file."""

from __future__ import annotations

import re
from functools import cache

from ingest.site.schema import schema

_SET = re.compile(r"--set ([a-z_]+)=(\w+)")
_CHOICE = re.compile(r"--(scaling|precision) ([a-z0-9]+)\b")
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")


def in_site_words(text: str, within: str = "") -> str:
    """Options of a command as keys of a site file.

    Args:
        text: as the other command says it.
        within: what stands before keys of a checkpoint policy, where the place is not told beside the text.

    >>> in_site_words("every checkpoint reaches shared storage; say --persistent-every", "checkpoint.")
    'every checkpoint reaches shared storage; say checkpoint.persistent_every'
    >>> in_site_words("without one say --set master_bytes_per_parameter=0", "checkpoint.")
    'without one say checkpoint.set.master_bytes_per_parameter: 0'
    >>> in_site_words("measured at fp8 too: --precision fp8 asks more")
    'measured at fp8 too: precision: fp8 asks more'
    """
    plain = _SET.sub(rf"{within}set.\1: \2", text)
    plain = _CHOICE.sub(r"\1: \2", plain)
    return _OPTION.sub(lambda found: _key(found[1].replace("-", "_"), within), plain)


def _key(name: str, within: str) -> str:
    return within + name if name in _policy_keys() else name


@cache
def _policy_keys() -> frozenset[str]:
    """Keys that only a checkpoint policy has."""
    job = schema()["$defs"]["job"]["properties"]
    return frozenset(job["checkpoint"]["properties"]) - frozenset(job)
