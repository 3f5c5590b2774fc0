"""What vendors write into a form: values in any notation, and remarks that confirm, or limit what they are written next to.

A remark confirms plainly where it has a word of consent, no word that limits, no number that the requirement does not ask for,
and no word that is neither the requirement's own nor one of those with which offers confirm. Whatever else it says, in whatever
language, a person decides on: the words are those of general English, not those of known offers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

#: Notations of units that are not read as they are, and those that are.
NOTATIONS = tuple(
    (re.compile(pattern, re.IGNORECASE if folded else 0), instead)
    for pattern, instead, folded in (
        (r"\s*\bper\s+(?:second|sec)\b\.?", "/s", True),
        (r"/\s*(?:seconds?|sec)\b\.?", "/s", True),
        (r"\b(kilo|mega|giga|tera|peta|exa)\s*-?(?=bits?\b|bytes?\b)", lambda found: found[1][0].upper(), True),
        (r"(?<=[KMGTPEkmgtpei])\s*-?bytes?\b", "B", True),
        (r"(?<=[KMGTPEkmgtpei])\s*-?bits?\b", "b", True),
        (r"\bbytes?\b", "B", True),
        (r"\b([KMGTPEkmgtpe]i?[Bb])ps\b", r"\1/s", False),
        (r"\b([kMGTPE])(?=B\b|iB\b)", r"\1", False),
        (r"\b(?:thousands?|tsd)\b\.?\s*(?=[a-z])", "k", True),
        (r"\b(?:mio|mn|mln|milli?on(?:e[ns]|s)?)\b\.?\s*(?=[a-z])", "M", True),
        (r"\b(?:bn|mrd|billions?|milliarde?[ns]?)\b\.?\s*(?=[a-z])", "G", True),
    )
)  # fmt: skip
_NUMBER = re.compile(r"[+]?\d(?:[\d.,'_’]|[  ](?=\d{3}(?!\d)))*(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_UNIT_WORD = re.compile(r"(?:[kKMGTPE]i?)?[Bb]|[kM]?W|k?Hz|ms|s|h|min|GbE|[kKMGTPE]")
_UNITS = re.compile(r"\s*([^\W\d_%]+(?:\s?/\s?[^\W\d_]+)*|%)")
#: Words that a unit may have, such as `million files per second`.
MOST_UNIT_WORDS = 4
#: What grants a bound, whatever the value after it.
AT_LEAST = re.compile(r"^(?:>=?|≥|=|at least|min(?:imum|\.)?|no less than|over|more than|above|exceeds)$", re.IGNORECASE)

#: What a remark refers to: the numbers in it are those of pages, tests, versions and days.
REFERENCES = re.compile(
    r"\b(?:pages?|pp?\.|sections?|sect?\.|chapters?|ch\.|annex(?:es)?|appendi(?:x|ces)|annexe|anexo|allegato|anhang|anlage|seite|kapitel|abschnitt|p[áa]gina|chapitre|attachments?|att\.|figures?|fig\.|tables?"
    r"|lines?|items?|rows?|tests?|documents?|doc\.|reports?|no\.|nr\.|log|versions?|ver\.|release|firmware|kernel|client|contract"
    r"|number|isbn|iso|iec|en|nist|rfc|rhel|sc|io|fio|ior|mdtest|elbencho|lustre)(?:\s+(?:no\.?|nr\.?|id|number))?[\s:#]*[A-Z]?\d[\w./–-]*"
    r"|\bprice\s+(?:sheet|list|table)s?\b|\bsheet\s+prices\b|\b\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul"
    r"|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{4}\b|\b\d+(?:\.\d+){2,}\b|\b24\s*[x/×]\s*7(?:\s*[x/×]\s*365)?\b|\w=\d+"
    r"|\b(?-i:[A-Z])[\w+-]*\s+\d+(?:\.\d+)+\b(?!\s*(?:[a-z]+/|[kmgtp]i?b|%))"
    r"|§+\s*\d[\d.]*|\bv\d[\w.]*|\b[RST]-[A-Z]+-\d+\b|[\w/-]+(?:\.[\w-]+)*\.(?:pdf|docx?|xlsx?|log|txt|json|csv|fio|zip)\b"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}\.\d{1,2}\.\d{4}\b",
    re.IGNORECASE,
)
#: Documents that a vendor adds to the form: what an answer that refers to one says, a person has to read there.
ELSEWHERE = re.compile(
    r"\b(?:attachments?|att\.|enclosures?|encl\.|adden(?:dum|da)|side\s+letters?|exhibits?|beilagen?|beiblatt|pi[èe]ces?\s+jointes?"
    r"|adjuntos?|allegat[oi]|bijlagen?|bilag(?:a|or)?|za[łl][aą]cznik\w*)(?=\W|$)\W*(?:no\.?\s*|nr\.?\s*)?[A-Z]?\d*",
    re.IGNORECASE,
)
#: What denies a limit, and so confirms.
DENIALS = re.compile(
    r"\b(?:no|without(?:\s+any)?|none|free\s+of|zero|not?\s+subject\s+to(?:\s+any)?)\s+(?:(?:further|any|technical|commercial|"
    r"other|and|or|use\s+of|data)\s+)*(?:deviations?|exceptions?|exclusions?|reservations?|restrictions?|limitations?|conditions?"
    r"|caveats?|qualifications?|(?:extra|additional|separate|further)\s+\w+|surcharges?|costs?|charges?|limits?|remarks?"
    r"|comments?|reduction|compression|deduplication|cach(?:e|es|ing)|tuning|optimi[sz]ations?)"
    r"(?:\s+(?:(?:is|are|was|were)\s+(?:\w+\s+)?)?(?:needed|required|necessary|applied|used|made|foreseen|counted|assumed))?\b"
    r"|\bnot\s+an?\s+(?:burst|peak|average|estimate|projection|target)\b|\b(?:ohne|keine?|sans|aucune?|sin|senza|nessuna)\s+"
    r"(?:(?:jede|weitere|autre|ning[uú]n)\w*\s+)?(?:einschränkung|vorbehalt|ausnahme|abweichung|aufpreis|mehrkosten|zusatzkosten|r[ée]serve"
    r"|restric|exception|excepci|supplément|surcoût|dérogation|reserva|limitaci|coste|riserv|limitazion|eccezion|costi)\w*(?:\s+adicional)?"
    r"|\bwill\s+be\s+(?:demonstrated|shown|proven|proved|verified|met|fulfilled|kept|honou?red)\b|^none\W*$|\bcahier\s+des\s+charges\b|\bno\s+preço\b"
    r"|\b(?:read|noted|understood|acknowledged)\s+and\s+(?:accepted|agreed|confirmed|approved|met|fulfilled|satisfied)\b|\bafter\s+(?:data\s+)?(?:parity|protection|redundancy|spares|raid)\b"
    r"|\b(?:data\s+)?(?:reduction|compression|deduplication|cach(?:e|es|ing))(?:\s+(?:and|or)\s+\w+)*\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:off|disabled|switched\s+off|turned\s+off|not\s+(?:used|counted|needed))\b"
    r"|\bun(?:cached|compressed|limited|restricted|conditional(?:ly)?|reserved(?:ly)?)\b|\bincompressible\b|\bnot\s+only\b"
    r"|\b(?:included|contained)\s+in\s+(?:the\s+)?(?:\w+\s+)?(?:price|offer|cost)\b|\bat\s+no\s+(?:\w+\s+)?(?:cost|charge)\b"
    r"|\bas\s+(?:is|was|were|are)?\s*(?:expected|planned|required|requested|specified|stated|demanded|asked)\b"
    r"|\b(?:after|before|upon|on|at)\s+(?:delivery|installation|acceptance)\b"
    r"|\b(?:under|at|in|with)\s+(?:all|the|these|those|your|its|said)\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:conditions?|loads?|terms?)\b"
    r"|\b(?:also|even|including)\s+(?:\w+\s+)?(?:while|when|if|after|during|under)\b"
    r"|\bstandard\s+deviation\b|\b(?:meets?|above|over|exceeds?|beats?|surpass\w*|more\s+than|better\s+than)\s+(?:the\s+)?(?:target|requirements?|required)\b",
    re.IGNORECASE,
)
#: Stems of words that postpone.
POSTPONING = (
    r"pending|expect\w*|projec\w*|plan(?:ned|s|ning)?|road\s?map|future|upcoming|forthcoming|next|later|soon|eventual\w*|phase[sd]?"
    r"|will\s+(?:be|become|follow|ship)|to\s+be|to\s+follow|follows|from\s+(?:q\d|h\d|\d{4}|version|release|mid|end|early|late)|beta"
    r"|preview|prototype|by\s+(?:q\d|h\d|\d{4}|end|mid)|[qh][1-4]\s*/?\s*20\d\d|tbd|tbc|tba|(?:on|upon|under)\s+(?:request|demand|nda)"
    r"|nda|preparation|prelimin\w*|drafts?|intend\w*|intention|once|until|till"
)
#: Stems of words that limit, condition, postpone or contradict, some of them of other languages, and marks that do.
LIMITS = re.compile(
    rf"\b(?:{POSTPONING}"
    r"|if|when|whenever|while|unless|only|solely|except\w*|exclud\w*|excl|exclusive|however|but|although|though|apart|aside"
    r"|for\s+(?:see|nfs|smb|posix|rdma|roce|ethernet|infiniband|sequential|random)|save\s+(?:for|where|that)|provided(?=\s+(?!as|in|with|by|at|for|from|free|under|and|to|on|within)\w)|providing|assum\w+|subject|condition\w*|depend\w*|contingent"
    r"|estimat\w*|predict\w*|theor\w*|calculat\w*|extrapolat\w*|simulat\w*|target\w*|goals?|aims?|experiment\w*|after|before|beyond"
    r"|typical\w*|average\w*|nominal\w*|peak\w*|burst\w*|instantan\w*|max|maximum|maximal\w*|up\s?to|as\s+much\s+as"
    r"|best(?:\s|-)(?:effort|case|possible)|in\s+the\s+best|approx\w*|about|around|circa|ca|roughly|nearly|almost|close\s+to|effective\w*"
    r"|logical\w*|raw(?=\s+(?:capacity|rate|performance|bandwidth|value|speed|throughput)|\W*$)|compress\w*|dedup\w*|reduc\w*|thin|cach\w*|warm\w*|read-?ahead|in\s+(?:memory|the\s+cloud|principle|general|parts?)"
    r"|principle|broadly|generally|essentially|basically|substantially|spirit|half|minus|subscription|tranches?|instal?lments?|on\s+paper|small\s+system|wear\s+and\s+tear|sister|verbal\w*"
    r"|understanding|knowledge|interpret\w*|(?:we\s+understand|understood)\s|prevail\w*|amend\w*|chang\w*|modif\w*|as\s+(?:of|is)"
    r"|with\s+(?:comments?|remarks?|the\s+wording)|(?:general|our)\s+(?:terms|conditions|wording|version|definitions?)"
    r"|terms\s+of\s+\w+|our\s+\w+\s+description|cover\s+letter|together\s+with|passed\s+(?:through|on)|respective|industry\s+standard"
    r"|premium|payments?|invoices?|option\w*|extra|additional\w*|separate\w*|surcharge\w*|charge\w*|cost\w*|priced?|fees?|quot\w*"
    r"|purchas\w*|upgrad\w*|requires?|requiring|needs?|needed|recommend\w*|limit\w*|restrict\w*|reserv\w*|deviat\w*|caveat\w*|void\w*"
    r"|not|cannot|can't|won't|don't|doesn't|isn't|no|none|never|neither|nor|without|lack\w*|partial\w*|partly|most|mostly|largely"
    r"|mainly|some|few|several|may|might|could|should|would|ought|subset|instead|alternative\w*|equivalent|similar\w*|comparable"
    r"|other\s+than|different\w*|smaller|fewer|less|lower|below|third[-\s]party\s+(?:software|hardware|components?|products?|licen\w+)"
    r"|partners?|responsib\w*|negotia\w*|discuss\w*|n/?a|special\w*|custom(?:i[sz]\w*)?|(?:business|working|office)\s+(?:days?|hours?)|nbd"
    r"|weekdays?|(?:provided|supplied|delivered|installed|borne|paid|done|performed|operated)\s+by\s+(?:the\s+)?(?:customer|buyer|client)"
    r"|expir\w*|valid\s+(?:until|for|through)|ramp\w*|staged|tun(?:ed|ing)|optimi[sz]\w*|ideal\w*|certain|specific|suitable|sufficient\w*"
    r"|adequate\w*|reasonabl\w*|efforts?|as\s+far|where(?:ver)?|possibl[ey]|probabl\w*|likely|read-?only|empty|fresh"
    r"|vorbehalt\w*|bedingt|teilweise|nicht|ohne|sofern|falls|nur|sous|r[ée]serve|sauf|partiel\w*|riserva|salvo|parcial\w*)\b"
    r"|[~≈*<≤?¹²³†‡…\u0370-\u03bb\u03bd-\u04ff\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\.\.\.|\b\d+\s*:\s*1\b",
    re.IGNORECASE,
)
#: Stems of words that consent, and references that stand alone.
CONSENTS = re.compile(
    r"\b(?:yes|ok|okay|compl(?:y|ies|iant|iance|ied|iantly)|conform\w*|conf[ei]rm\w*|met|binding|performed|meets?|fulfil\w*|satisf\w*|accept\w*|agreed?"
    r"|agrees|inclu\w+|support(?:s|ed)?|guarantee\w*|warrant\w*|commit\w*|exceed\w*|surpass\w*|better|native\w*|provid\w+"
    r"|ja|oui|s[ií]|erf[üu]ll\w*|bestätig\w*|einhaltung|zugesichert|garanti\w*|nachgewiesen|eingehalten|enthalten|inbegriffen|konform\w*|respect\w*"
    r"|compris\w*|cumpl\w*|soddisf\w*|deliver\w*|sustain\w*|reach\w*|achiev\w*|measured|tested|verified|validated|proven|certified|witnessed"
    r"|see|refer|attached|enclosed|as\s+(?:requested|required|specified|stated|described|asked|demanded)|fully|full|complete(?:ly)?"
    r"|unconditional\w*|ready|available|enabled|default|standard|throughout|always|covered|part\s+of|granted|secured|done"
    # Italian, Portuguese, Dutch, Swedish, Danish, Norwegian, Polish, Czech; whole sentences of Japanese, Chinese and Korean
    r"|sì|sim|tak|ano|cumpr\w*|atend\w*|rispett\w*|approvato|voldo[ae]\w*|voldaan|akkoord|bevestig\w*|inbegrepen|uppfyll\w*|opfyld\w*"
    r"|oppfyl\w*|bekräft\w*|bekræft\w*|bekreft\w*|ing[åa]r|spełni\w*|potwierdz\w*|zgodn\w*|splň\w*|potvrz\w*|zugesagt|zusage\w*"
    r"|akzept\w*|einverstanden|d['’]accord|remplie?s?|satisfait\w*|de\s+acuerdo|aceptad[oa]|accettat[oa]"
    r"|はい|(?:要件|要求|仕様)?[をにに]?(?:すべて|完全に)?(?:満たし|準拠し|適合し|対応し)(?:て(?:い|おり))?ます|準拠|適合|確認しました|承諾します"
    r"|是的?|(?:完全|均)?(?:满足|符合|响应)(?:所有|全部)?(?:该|本|此)?(?:要求|规格)?|确认|已确认|无偏离|예|네|준수합니다|충족합니다|확인합니다)\b",
    re.IGNORECASE,
)
#: The other words with which offers confirm, those of measurements and references among them; none of them alone does.
PLAIN_WORDS = re.compile(
    r"an?|the|this|that|these|those|it|its|ours?|we|us|you|yours?|they|their|them|which|who|whose|all|each|every|any|both|to|of|in|is"
    r"|on|at|by|for|from|with|and|or|as|are|was|were|be|been|being|has|have|had|do|does|did|will|shall|can|so|such|also|well|per|over"
    r"|under|during|within|through|via|into|than|then|here|there|above|across|against|same|even|more|very|own|out|holds?|held|keeps?"
    r"|kept|shows?|shown|demonstrat\w+|prov(?:es?|en|ed)|runs?|ran|submit\w*|list(?:s|ed)?|describe[sd]?|state[sd]?|document\w*"
    r"|attach\w*|enclos\w*|detail\w*|performances?|obtained|record(?:s|ed)?|observed?|used?|using|appl(?:y|ies|ied)|hereby"
    r"|declar\w*|undertake\w*|promise[sd]?|assur\w*|ensur\w*|acknowledg\w*|noted|contractual(?:ly)?|firm(?:ly)?"
    r"|fixed|exact(?:ly)?|precise(?:ly)?|entire(?:ly)?|whole|wholly|total(?:ly)?|clear(?:ly)?|correct|true|right|certificat\w*"
    r"|requir\w*|request(?:s|ed)?|specif(?:y|ied|ications?)|expect|demand|clauses?|points?|items?|values?|figures?|numbers?"
    r"|rates?|results?|tests?|testing|measur\w*|logs?|reports?|data|sheets?|datasheets?|brochures?|manuals?|guides?|handbooks?|lines?|paragraphs?|articles?|tables?|files?"
    r"|offer(?:s|ed|ing)?|propos\w*|bids?|tenders?|responses?|answers?|remarks?|comments?|questions?|contracts?|prices?|scope"
    r"|supply|supplied|jobs?|configur\w*|designs?|settings?|written|since|itself|sub|systems?|solutions?|products?|platforms?|storage|clusters?|hardware|software|appliances?|servers?"
    r"|clients?|nodes?|drives?|racks?|features?|functions?|functionality|capabilit\w*|capacity|usable|net|throughput|bandwidth|latency"
    r"|reads?|writes?|reading|writing|uncached|direct|i|o|threads?|process(?:es)?|streams?|queue|depth|blocks?|sizes?|random|incompressible|sequential|aggregate|mandatory|years?|terms?|months?|weeks?"
    r"|days?|hours?|minutes?|seconds?|long|duration|period|warranty|services?|maintenance|team|administrators?|departments?|legal|management|experts?|specialists?|engineers?|engineering|staff|vendors?"
    r"|suppliers?|manufacturers?|company|technical|commercial|base|basic|normal|factory|box|production|current(?:ly)?|already|today|now"
    r"|licen[cs]e[sd]?|activ(?:e|ated)|protocols?|site|margins?|headroom|conservative|continuous(?:ly)?|constant(?:ly)?|permanent(?:ly)?"
    r"|steady|sets?|samples?|cop(?:y|ies)|first|last|shipment|order|proof|evidence|validation|verification|inspection|repetitions?|times"
    r"|higher|faster|greater|larger|good|pleas\w*|thank\w*|kindly|nothing|add|parts?|spares?|parity|protection|load|conditions?|identical"
    r"|versions?|release|pages?|sections?|annex|appendix|chapter|time|round|clock|[acg]li|[ag]?ui|apis?|encrypt\w*|redundan\w*|snapshots?"
    r"|quotas?|aes|fips|posix|rdma|nfs|smb|csi|kerberos|ldap|snmp|roce|infiniband|ethernet|nvme|fio|ior|mdtest|elbencho|dlio"
    r"|de[rnsm]|die|das|ein\w*|und|im|ist|sind|wird|werden|wir|bei|zu[rm]?|siehe|seite|anlage|anhang|abschnitt|kapitel|preis|angebot"
    r"|abnahme|voll|vollständig|vollumfänglich|wie|gefordert|verlangt|gemäß|datenblatt|anforderung\w*|wert\w*|auch|alle[nrs]?"
    r"|l[ea]s?|du|dans|aux?|al|prix|notre|offre|voir|annexe|est|sont|sera|à|réception|recette|et|valeur|exigence|fiche|technique"
    r"|el|los?|del|en|precio|oferta|ver|página|anexo|se|demostrará|recepción|valor|requisitos?|y|il|nel|prezzo|vedi|pagina"
    r"|nous|la|cette|entièrement|pleinement|totalement|intégralement|exigences?|l['’]exigence|l['’]ensemble|toutes?|tous|les|par|c['’]est"
    r"|esta|este|todos?|todas?|plenamente|integralmente|totalmente|completamente|íntegramente|por|o|os|as|da|do|na|preço|em|com|são|será|está"
    r"|è|sono|pienamente|interamente|requisit[oi]|valore|dell['’]offerta|nell['’]offerta|della|dei|di|per|viene|aan|de|het|eis(?:en)?"
    r"|volledig|alle|deze|wij|wordt|prijs|krav(?:et|en)?|helt|fullt|fuldt|i|priset|prisen|vi|och|og|det|den|är|er|w|pełni|wymagani\w*"
    r"|plně|požadav\w*|anforderungen|hiermit|selbstverständlich|vollumfänglich|uneingeschränkt|restlos|dies\w*|wurde|haben|unser\w*"
    r"|des|es|sie|ihr\w*|zum|somit|punkte?n?|vorgaben?|kriteri\w*|genannt\w*|angegeben\w*|angeboten\w*|lösung|c[eo]|cet|ces|cela|nos|votre"
    r"|vos|elle|on|sur|critères?|système|propos[ée]\w*|demand[ée]\w*|indiqu[ée]\w*|con|lo|su|sus|nuestr\w*|esto|dichos?|dichas?|punto"
    r"|sistema|solución|ofrecid\w*|indicad\w*|solicitad\w*|queda|gli|alla|ai|nostr\w*|quest[oaie]|tutt[ie]|soluzione|offert\w*|richiest\w*"
    r"|indicat\w*|aos?|à|isto|noss\w*|solução|proposta|ponto|dit|dat|een|onze|ons|systeem|oplossing|aanbieding|gevraagde?|vereiste?n?|aangeboden"
    r"|gestelde?|punt|van|detta|dette|vår\w*|vores|systemet|l[öø]sning\w*|tilbud\w*|erbjud\w*|som|a[vf]|til",
    re.IGNORECASE,
)
#: Numbers in words, where a noun follows that is counted.
SPELLED = {word: number for number, word in enumerate(
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1)} | {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}  # fmt: skip
_SPELLED = re.compile(
    rf"\b({'|'.join(SPELLED)})(?=[\s-]+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|per\s?cent|clients?|nodes?|hosts?"
    r"|failures?|drives?|streams?|threads?|runs?|racks?|sites?)\b)",
    re.IGNORECASE,
)
#: An amount of a price with one comma before three digits is in thousands: nobody prices in thousandths.
MOST_CENTS = 1_000
#: Words that are shown of those that limit.
MOST_WORDS = 3


class Read(NamedTuple):
    """A value as a vendor wrote it."""

    value: float | None  # in base units; None where no number with a unit of the kind can be read
    beside: str = ""  # what the cell says beside it
    why: str = ""  # why there is none


def number_of(written: str, plausible: Callable[[float], bool] = bool) -> float | None:
    """The number that digits with points, commas and spaces stand for; None where it may be one or another.

    Where one comma or point may group or separate, the reading counts that is `plausible` alone.

    >>> number_of("71,4"), number_of("1.441.000"), number_of("1 441 000"), number_of("1,441,000.5"), number_of("2.5e3")
    (71.4, 1441000.0, 1441000.0, 1441000.5, 2500.0)
    >>> number_of("1,500"), number_of("1,500", lambda value: value > 100)
    (None, 1500.0)
    """
    text = re.sub(r"[\s'_’  +]", "", written).rstrip(".,")
    mantissa, power, exponent = text.lower().partition("e")
    marks = [mark for mark in mantissa if mark in ".,"]
    if marks and len(set(marks)) == len(marks) == 1 and marks[0] == "," and re.fullmatch(r"\d{1,3},\d{3}", mantissa):
        readings = [one for one in (float(mantissa.replace(",", "")), float(mantissa.replace(",", "."))) if plausible(one)]
        return readings[0] if len(readings) == 1 else None
    last = marks[-1] if marks else "."
    if marks.count(last) > 1:  # it groups
        mantissa = mantissa.replace(",", "").replace(".", "")
    else:
        mantissa = mantissa.replace("," if last == "." else ".", "").replace(last, ".")
    try:
        return float(mantissa + power + exponent)
    except ValueError:
        return None


def number_in(written: object) -> float | None:
    """The only number of a cell, such as that of `1.250.000 EUR`; None where there is none, or it may be one or another.

    >>> number_in("EUR 1.250.000,00"), number_in("1,250,000"), number_in(7), number_in("as above"), number_in("2 x 3")
    (1250000.0, 1250000.0, 7.0, None, None)
    """
    if isinstance(written, (int, float)) and not isinstance(written, bool):
        return float(written)
    numbers = _NUMBER.findall(str(written or ""))
    return number_of(numbers[0], lambda value: value >= MOST_CENTS) if len(numbers) == 1 else None


def in_notation(written: str) -> str:
    """A text with its units as they are read.

    >>> in_notation("GBytes per second"), in_notation("Gbps"), in_notation("gigabytes/sec")
    ('GB/s', 'Gb/s', 'GB/s')
    """
    for pattern, instead in NOTATIONS:
        written = pattern.sub(instead, written)
    return written


def read_value(
    written: str, in_base: Callable[[str], float | None], plausible: Callable[[float], bool], unit: Callable[[float], float]
) -> Read:
    """Read the value of a cell with its unit in any notation.

    Args:
        in_base: reads `450 GB/s` in base units, None for another unit.
        plausible: whether a value in base units may be meant.
        unit: brings a bare number into base units.
    """
    found = _NUMBER.search(written)
    # An error of a spreadsheet program, such as `#DIV/0!`, is no number either.
    if found is None or written.startswith("#") or re.search(r"[-\u2212]$", written[: found.start()]):
        return Read(None, why="no number from 0")
    before, rest = written[: found.start()].strip(), written[found.end() :]
    names, words, place = [""], in_notation(rest), 0
    while len(names) <= MOST_UNIT_WORDS and (word := _UNITS.match(words, place)):
        names.append(words[: word.end()].strip())
        place = word.end()
    for name in reversed(names):
        # Words after a number may be its unit, else the number is in that of the cell.
        factor = in_base(f"1 {name}") if name else unit(1.0)
        if factor is None or (not name and not _follows(words)):
            continue
        number = number_of(found[0], partial(_scaled, plausible, factor))
        if number is None:
            return Read(None, why=f"'{found[0]}' is one number with a decimal comma and another with a grouping one")
        value = in_base(f"{number!r} {name}") if name else unit(number)
        opening = "" if AT_LEAST.match(before) else before
        left = " ".join(filter(None, (opening, words.strip()[len(name) :].strip())))
        return Read(value, left.strip(" .;,"))
    return Read(None, why="no unit of the kind")


def _follows(words: str) -> bool:
    """Whether words after a bare number tell about it: no unit of another kind, such as `DWPD`."""
    first = re.match(r"\s*(\w+)", words)
    return first is None or bool(CONSENTS.match(first[1]) or LIMITS.match(first[1]))


def _scaled(plausible: Callable[[float], bool], factor: float, number: float) -> bool:
    return plausible(number * factor)


def limiting(text: str) -> str:
    """The words of a text that limit what it is written next to, as a phrase; empty where there are none."""
    said = [" ".join(found[0].lower().split()) for found in LIMITS.finditer(text)]
    return f"limits: {_quoted(said)}" if said else ""


def _quoted(words: Sequence[str]) -> str:
    said = [*dict.fromkeys(words)]
    return ", ".join([f"'{word}'" for word in said[:MOST_WORDS]] + ["…"] * (len(said) > MOST_WORDS))


class Counted(NamedTuple):
    """A number of a remark."""

    number: float
    before: str  # the words before it
    after: str  # the words after it


def limits(remark: str, asked: Callable[[Counted, bool], str], required: str = "") -> str:
    """Why a person has to read a remark; empty for a plain confirmation.

    `asked` tells what is wrong with a number, empty where it is as the requirement asks; the second argument tells whether
    another number of the remark is a value that meets the requirement. The words of what is `required` may be repeated.

    >>> limits("Fully compliant, see page 12.", lambda *_: "x"), limits("Confirmed without exception", lambda *_: "x")
    ('', '')
    >>> limits("Complies from release 6.2, subject to a licence", lambda *_: "x")
    "limits: 'subject'"
    >>> limits("1 failure", lambda found, _: f"states {found.number:g}, which is not asked for")
    'states 1, which is not asked for'
    >>> limits("Tested with zero-filled files", lambda *_: "")
    "says more: 'zero-filled'"
    """
    if elsewhere := ELSEWHERE.search(remark):
        return f"refers to '{elsewhere[0].strip()}'"
    text = _SPELLED.sub(lambda found: str(SPELLED[found[1].lower()]), remark)
    text = DENIALS.sub(" confirmed ", REFERENCES.sub(" see ", text))
    if words := limiting(text):
        return words
    numbers = [
        Counted(number, text[: found.start()].strip(), text[found.end() :].strip(" -"))
        for found in _NUMBER.finditer(text)
        # A number within a name is none.
        if not text[: found.start()][-1:].isalpha() and (number := number_of(found[0].rstrip(".,"))) is not None
    ]
    plain = any(not asked(one, False) for one in numbers)
    for one in numbers:
        if why := asked(one, plain):
            return why
    if not CONSENTS.search(text) and not plain and re.search(r"\w", text):
        return "neither confirms nor denies"
    return more_than(text, required)


def more_than(text: str, required: str = "") -> str:
    """The words of a text that are neither plain nor those of what is required, as a phrase; empty where there are none."""
    own = {word.rstrip("s") for word in _WORD.findall(required.lower())}
    more = [word for word in _WORD.findall(text) if not (word.lower().rstrip("s") in own or _is_plain(word))]
    return f"says more: {_quoted(more)}" if more else ""


def _is_plain(word: str) -> bool:
    """Whether a word, or each part of a compound, confirms, belongs to a confirmation, or is a unit."""
    return all(
        CONSENTS.fullmatch(part) or PLAIN_WORDS.fullmatch(part) or _UNIT_WORD.fullmatch(part) for part in word.split("-")
    )
