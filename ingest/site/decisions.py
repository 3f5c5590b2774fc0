"""What the buyer decides before a tender goes out: each finding that makes a line unattainable, disputed or pointless.

A rule whose row names the lines that it concerns (`tender`) is a decision. A site file settles one by its id,
`decisions: {W46: {accept: "reason"}}`, or by a value with which the rule applies no more. Where a rule applies to several jobs,
workloads or lines, each is accepted by its name, `decisions: {W85: {unet3d: {accept: "reason"}}}`: a reason that was given for
one of them settles no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.messages import Message, fact_of, in_site_words
from ingest.errors import RequirementNotMet, expected_one_of, listed
from ingest.requirement import Requirement
from ingest.site.service import ServiceTerm
from ingest.site.site_file import Site
from ingest.sizing.rules import RULES, Finding, finding

#: Lines that a decision names; of more it names the first.
MOST_LINES = 3
#: The rules that a buyer decides, by id.
DECIDED = {name: rule for name, rule in RULES.items() if rule.tender}
#: The key of a reason.
ACCEPT = "accept"
SETTLE, SETTLE_ONE = "decisions: {{{id}: {{accept: reason}}}}", "decisions: {{{id}: {{{of}: {{accept: reason}}}}}}"
#: Why an acceptance settles nothing.
CLOSED = "the rule does not apply"
SEVERAL = "it is open for {owners}; accept each by its name"


class Decision(NamedTuple):
    """A finding that the buyer decides.

    Attributes:
        id: of its rule, such as `W46`.
        lines: ids of the requirement lines that it concerns.
        of: the job or workload that it is about, else its line; empty for the whole site.
        why: what is wrong with them, in the words of a site file.
        settle: the key of the site file that accepts it; a changed value settles it too.
        reason: of the buyer, who accepted it; empty while it is open.
    """

    id: str
    lines: tuple[str, ...]
    of: str
    why: str
    settle: str
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON; its reason where it is settled."""
        return {name: [*part] if isinstance(part, tuple) else part for name, part in self._asdict().items() if part != ""}

    @property
    def text(self) -> str:
        """The decision in one line."""
        return f"{self.id} ({self.concerned}) {self.why}. Settle: {self.settle}"

    @property
    def concerned(self) -> str:
        """Its lines, or the first of many."""
        return f"{self.lines[0]} and {len(self.lines) - 1} more" if len(self.lines) > MOST_LINES else listed(self.lines)


def decisions_of(site: Site, found: Iterable[Finding], lines: Sequence[Requirement]) -> tuple[Decision, ...]:
    """The decisions of a site, open and settled, the most severe first."""
    accepted: Mapping[str, Any] = site.section("decisions")
    made = [*_each(found, lines)]
    owners = owners_of(made)
    settled = []
    for one in made:
        alone = len(owners[one.id]) == 1
        said = accepted.get(one.id, {})
        said = said if alone and ACCEPT in said else said.get(one.of, {})
        way = (SETTLE if alone else SETTLE_ONE).format(id=one.id, of=one.of)
        settle = " or ".join(filter(None, (one.settle, way)))
        settled.append(one._replace(reason=str(said.get(ACCEPT, "")), settle=settle))
    return tuple(settled)


def owners_of(decided: Iterable[Decision]) -> dict[str, list[str]]:
    """What each rule is open for or settled for, by its id."""
    found: dict[str, list[str]] = {}
    for one in decided:
        found.setdefault(one.id, [])
        found[one.id] += [one.of] if one.of not in found[one.id] else []
    return found


def stale(site: Site, decided: Iterable[Decision]) -> list[str]:
    """One line for each acceptance of a site file that settles nothing."""
    if not site.section("decisions"):
        return []
    owners, found = owners_of(decided), []
    for name, said in site.section("decisions").items():
        known = owners.get(name, [])
        lost: list[tuple[tuple[str, ...], str]] = [((one,), CLOSED) for one in said if one not in {ACCEPT, *known}]
        if ACCEPT in said and len(known) != 1:
            lost = [((), SEVERAL.format(owners=listed(sorted(known))) if known else CLOSED)]
        for below, why in lost:
            one = finding("W75", words={"decision": "stale"}, why=why)
            assert one is not None, "its words decide"
            found.append(in_site_words(Message(f"{site.place(('decisions', name, *below))}: ", one.message())))
    return found


def unearned(site: Site, lines: Iterable[Requirement], terms: Iterable[ServiceTerm]) -> list[Message]:
    """A line for each criterion of the award that gives points for what the tender lacks."""
    lacking = {
        "targets": "" if any(one.priority == "target" for one in lines) else "has no target",
        "terms": "" if any(one.value is None for one in terms) else "asks no question",
    }
    found = []
    for criterion, lacks in lacking.items():
        points = site.section("award").get(criterion)
        one = finding("W109", {}, {"award": "unearned"}, points=points, criterion=criterion, lacks=lacks)
        if lacks and points and one is not None:
            found.append(one.message())
    return found


def check_decisions(site: Site) -> None:
    """Refuse the decisions of a site file that no rule asks for, and those that are accepted both in total and by name.

    Raises:
        UsageError: with the line.
    """
    for name, said in site.section("decisions").items():
        if name not in DECIDED:
            site.refuse(("decisions", name), f"unknown decision '{name}', {expected_one_of(name, DECIDED)}")
        if ACCEPT in said and len(said) > 1:
            names = listed(one for one in said if one != ACCEPT)
            site.refuse(("decisions", name), f"found `accept` beside {names}, expected it below each name alone")


def _each(found: Iterable[Finding], lines: Sequence[Requirement]) -> Iterator[Decision]:
    """One decision for each rule and owner whose lines a vendor would have to meet or answer."""
    told: dict[tuple[str, str], None] = {}
    for one in sorted((one for one in found if one.true and one.rule.id in DECIDED), key=lambda one: one.rule.rank):
        line = str(one.facts.get("line", ""))
        concerned = tuple(known.id for known in lines if known.id.startswith(tuple((line or one.rule.tender).split())))
        message = one.message()
        why = in_site_words(fact_of(message))
        why = f"{one.owner}: {why}" if one.owner and not why.startswith(("R-", one.owner)) else why
        if concerned and (one.rule.id, why) not in told:
            told[one.rule.id, why] = None
            ways = " or ".join(way.in_site_file for way in message.supply)
            yield Decision(one.rule.id, concerned, one.owner or line, why, ways)


class Undecided(RequirementNotMet):
    """Decisions of a site are open: a tender is not written over them (exit code 3)."""

    @property
    def lines(self) -> list[str]:
        """One line for each decision."""
        return str(self).split("\n")


def refuse_undecided(decisions: Sequence[Decision]) -> None:
    """Refuse to write a tender while decisions are open.

    Raises:
        Undecided: with each of them.
    """
    left = [one for one in decisions if not one.reason]
    if left:
        head = f"the tender waits for {len(left)} decision{'s' if len(left) > 1 else ''} of the buyer"
        raise Undecided("\n".join([head, *(one.text for one in left)]))
