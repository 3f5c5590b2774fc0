"""What vendors write into a form: values in any notation, and remarks that confirm, or limit what they are written next to.

A remark confirms plainly where it has a word of consent, no word that limits, no number that the requirement does not ask for,
and no word that is neither the requirement's own nor one of those with which offers confirm. Whatever else it says, in whatever
language, a person decides on. Verbs count in forms that tell what is so, not what can be or is to be; words of other languages
are known with their endings, never with any tail: compounds hide limits.
"""

from __future__ import annotations

import datetime
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
    r"\b(?:pages?|pp?\.|pag\.?|str\.|стр\.|страница|п\.|раздел|σελ\.|σελίδα|sections?|sect?\.|chapters?|ch\.|annex(?:es)?"
    r"|appendi(?:x|ces)|annexe|anexo|allegato|anhang|anlage|seite|kapitel|abschnitt|p[áa]gina|chapitre|attachments?|att\."
    r"|figures?|fig\.|tables?"
    r"|lines?|items?|rows?|tests?|documents?|doc\.|reports?|no\.|nr\.|log|versions?|ver\.|release|firmware|kernel|client"
    r"|contract"
    r"|number|isbn|iso|iec|en|nist|rfc|rhel|sc|io|fio|ior|mdtest|elbencho|lustre)(?:\s+(?:no\.?|nr\.?|id"
    r"|number))?[\s:#]*[A-Z]?\d[\w./–-]*"
    r"|\bprice\s+(?:sheet|list|table)s?\b|\bsheet\s+prices\b|\b\d+(?:\.\d+){2,}\b|\b24\s*[x/×]\s*7(?:\s*[x/×]\s*365)?\b"
    r"|\w=\d+"
    r"|\b(?-i:[A-Z])[\w+-]*\s+\d+(?:\.\d+)+\b(?!\s*(?:[a-z]+/|[kmgtp]i?b|%))"
    r"|§+\s*\d[\d.]*|\bv\d[\w.]*|\b[RST]-[A-Z]+-\d+\b|[\w/-]+(?:\.[\w-]+)*\.(?:pdf|docx?|xlsx?|log|txt|json|csv|fio|zip)\b",
    re.IGNORECASE,
)
#: Names of months in the languages that are read, from January on.
MONTHS = (
    r"jan(?:uary|uar|v|vier)?|enero|gennaio|stycz(?:eń|nia)|январ[яье]|ιανου[αά]ρ\w+",
    r"feb(?:ruary|ruar|rero|braio)?|févr?(?:ier)?|lut(?:y|ego)|феврал[яье]|φεβρου[αά]ρ\w+",
    r"mar(?:ch|s|zo|zec|ca)?|märz|март[ае]?|μ[αά]ρτι\w+",
    r"apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|kwie(?:cień|tnia)|апрел[яье]|απρ[ιί]λι\w+",
    r"ma[yi]|mayo|maggio|maj[au]?|ма[йяе]|μ[αά][ιΐ]\w+",
    r"jun[ei]?|juin|junio|giugno|czerw(?:iec|ca)|июн[яье]|ιο[υύ]νι\w+",
    r"jul[iy]?|julio|juil(?:let)?|luglio|lip(?:iec|ca)|июл[яье]|ιο[υύ]λι\w+",
    r"aug(?:ust)?|ao[uû]t|agosto|sierp(?:ień|nia)|август[ае]?|α[υύ]γο[υύ]στ\w+",
    r"sept?(?:ember|embre|iembre)?|settembre|wrze(?:sień|śnia)|сентябр[яье]|σεπτ\w+",
    r"o[ck]t(?:ober|obre|ubre)?|ottobre|października?|октябр[яье]|οκτ\w+",
    r"nov(?:ember|embre|iembre)?|listopada?|ноябр[яье]|νο[εέ]μ\w+",
    r"d[eé][cz](?:ember|embre)?|dic(?:iembre|embre)?|grud(?:zień|nia)|декабр[яье]|δεκ[εέ]μ\w+",
)
#: A day or a month: past ones are those of tests and documents, later ones postpone.
DATES = re.compile(
    r"\b(?P<iso>(?:19|20)\d\d)-(?P<iso_month>0[1-9]|1[0-2])(?:-\d{2})?\b"
    r"|\b(?:\d{1,2}[./])(?P<month>\d{1,2})[./](?P<year>(?:19|20)\d\d)\b"
    rf"|\b(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?)?(?P<name>{'|'.join(MONTHS)})\.?,?\s+(?:de\s+)?(?P<named>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
#: Documents that a vendor adds to the form: what an answer that refers to one says, a person has to read there.
ELSEWHERE = re.compile(
    r"\b(?:attachments?|att\.|enclosures?|encl\.|adden(?:dum|da)|side\s+letters?|exhibits?|beilagen?|beiblatt"
    r"|pi[èe]ces?\s+jointes?"
    r"|adjuntos?|allegat[oi]|bijlagen?|bilag(?:a|or)?|za[łl][aą]cznik\w*)(?=\W|$)\W*(?:no\.?\s*|nr\.?\s*)?[A-Z]?\d*",
    re.IGNORECASE,
)
#: What denies a limit, and so confirms.
DENIALS = re.compile(
    r"\b(?:no|without(?:\s+any)?|none|free\s+of|zero|not?\s+subject\s+to(?:\s+any)?)\s+(?:(?:further|any|technical"
    r"|commercial|"
    r"other|and|or|use\s+of|data)\s+)*(?:deviations?|exceptions?|exclusions?|reservations?|restrictions?|limitations?"
    r"|conditions?"
    r"|caveats?|qualifications?|(?:extra|additional|separate|further)\s+\w+|surcharges?|licen[cs]es?(?=\s+(?:(?:is"
    r"|are)\s+)?(?:needed|required|necessary))|costs?|charges?|limits?|remarks?"
    r"|comments?|reduction|compression|deduplication|cach(?:e|es|ing)|tuning|optimi[sz]ations?)"
    r"(?:\s+(?:(?:is|are|was|were)\s+(?:\w+\s+)?)?(?:needed|required|necessary|applied|used|made|taken|raised|noted"
    r"|foreseen|counted|assumed))?\b"
    r"|\bnot\s+an?\s+(?:burst|peak|average|estimate|projection|target)\b"
    r"|\b(?:ohne|keine?[nrs]?|sans|aucune?|sin|ning[uú]n\w*|senza|nessun[ao]?|sem|bez|без|χωρίς)\s+(?:(?:jede[nrs]?"
    r"|jegliche[nrs]?|weitere[nrs]?|autre|aucune?"
    r"|ning[uú]n\w*|alcun[ao]?|żadn\w+|каких-либо|всяких|καμία)\s+)?(?:(?:einschränkung|vorbehalt|ausnahme|abweichung"
    r"|aufpreis|mehrkosten|zusatzkosten|r[ée]serve"
    r"|restric|restrizion|exception|excepci|supplément|surcoût|dérogation|reserva|salvedad|limitaci|coste|riserv"
    r"|limitazion|eccezion|costi|zastrzeże|wyjątk|ogranicze"
    r"|оговор|исключен|ограничен|отклонен|εξαίρεσ|επιφύλαξ|περιορισμ|απόκλισ)\w*(?:\s+(?:adicional|aggiuntiv"
    r"|supplémentaire)\w*)?"
    # What costs more where it is additional, before or after it
    r"|(?:zusätzliche|dodatkow|дополнительн|επιπλέον|πρόσθετ)\w*\s+(?:li[cz]en|lizenz|лиценз|άδει|kost|gebühr|opłat|koszt"
    r"|плат|затрат|κόστ|χρέωσ)\w*(?:\s+(?:erforderlich|nötig|notwendig))?"
    r"|(?:licen|frais|coût|cost)\w*\s+(?:supplémentaire|adicional|aggiuntiv)\w*)"
    r"|\bwill\s+be\s+(?:demonstrated|shown|proven|proved|verified|met|fulfilled|kept|honou?red)\b|^none\W*$"
    r"|\b(?:engage\w*|verpflichten\s+uns)\s+(?:à|a|zu)\s+\w+|\bas\s+quoted\b|\bthe\s+(?:quoted|\w+\s+quoted)\b"
    r"|\bcahier\s+des\s+charges\b|\bpris(?:es?)?\s+en\s+charge\b"
    r"|\b(?:fait\s+partie|fa\s+parte|forma\s+parte|stanowi\s+część)\b"
    r"|\bzur\s+kenntnis\s+genommen\s+und\b|\bno\s+preço\b"
    r"|\b(?:read|noted|understood|acknowledged)\s+and\s+(?:accepted|agreed|confirmed|approved|met|fulfilled|satisfied)\b"
    r"|\bafter\s+(?:data\s+)?(?:parity|protection|redundancy|spares|raid)\b"
    r"|\b(?:data\s+)?(?:reduction|compression|deduplication|cach(?:e|es|ing))(?:\s+(?:and|or)\s+\w+)*\s+(?:(?:is|are|was"
    r"|were)\s+)?"
    r"(?:off|disabled|switched\s+off|turned\s+off|not\s+(?:used|counted|needed))\b"
    r"|\bun(?:cached|compressed|limited|restricted|conditional(?:ly)?|reserved(?:ly)?)\b|\bincompressible\b|\bnot\s+only\b"
    r"|\b(?:(?:included|contained)\s+in|part\s+of)\s+(?:the\s+)?(?:\w+\s+)?(?:price|offer|cost)\b"
    r"|\bat\s+no\s+(?:\w+\s+)?(?:cost|charge)\b"
    r"|\bas\s+(?:is|was|were|are)?\s*(?:expected|planned|required|requested|specified|stated|demanded|asked)\b"
    r"|\b(?:after|before|upon|on|at)\s+(?:delivery|installation|acceptance)\b"
    r"|\b(?:under|at|in|with)\s+(?:all|the|these|those|your|its|said)\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:conditions?"
    r"|loads?|terms?)\b"
    r"|\b(?:also|even|including)\s+(?:\w+\s+)?(?:while|when|if|after|during|under)\b"
    r"|\b(?:ab\s+werk|serienmäßig|standardmäßig|de\s+s[eé]rie|di\s+serie|par\s+défaut|por\s+defecto|domyślnie"
    r"|по\s+умолчанию)\b"
    # A place of tests, named
    r"|\b(?:lab|laborator\w*|im\s+labors?|(?:unser|eigen)\w*\s+labors?|laboratoire|лаборатори\w*"
    r"|εργαστήρι\w*)(?-i:\s+(?:in|à|de|en|di|a|w|в|στ\w+)\s+[^\W\d_a-zà-ÿа-яα-ω][^\W\d_]+)?\b"
    r"|\b(?:accept|akzept|acept|accett|akceptuj|принима|αποδεχ)\w*\s+(?:[^\W\d_]{1,5}\s+)?(?:terms|conditions?|clauses?"
    r"|bedingung(?:en)?|condiciones|condizion[ei]|warunk\w+|услови\w+|όρους)\b"
    r"|\bstandard\s+deviation\b|\b(?:meets?|above|over|exceeds?|beats?|surpass\w*|more\s+than"
    r"|better\s+than)\s+(?:the\s+)?(?:target|requirements?|required)\b",
    re.IGNORECASE,
)
#: Stems of words that postpone.
POSTPONING = (
    r"pending|expect\w*|projec\w*|plan(?:ned|s|ning)?|road\s?map|future|upcoming|forthcoming|next|later|soon|eventual\w*"
    r"|phase[sd]?"
    r"|will\s+(?:be|become|follow|ship)|to\s+be|to\s+follow|follows|from\s+(?:q\d|h\d|\d{4}|version|release|mid|end|early"
    r"|late)|beta"
    r"|preview|prototype|by\s+(?:q\d|h\d|\d{4}|end|mid)|[qh][1-4]\s*/?\s*20\d\d|tbd|tbc|tba|(?:on|upon|under)\s+(?:request"
    r"|demand|nda)|su\s+richiesta|sur\s+demande|(?:sobre|bajo)\s+(?:pedido|demanda)|auf\s+anfrage"
    r"|nda|preparation|prelimin\w*|drafts?|intend\w*|intention|once|until|till"
)
#: Stems of words that limit, condition, postpone or contradict, some of them of other languages, and marks that do.
LIMITS = re.compile(
    rf"\b(?:{POSTPONING}"
    r"|if|when|whenever|while|unless|only|solely|except\w*|exclud\w*|excl|exclusive|however|but|although|though|apart|aside"
    r"|for\s+(?:see|nfs|smb|posix|rdma|roce|ethernet|infiniband|sequential|random)|save\s+(?:for|where|that)"
    r"|provided(?=\s+(?!as|in|with|by|at|for|from|free|under|and|to|on|within)\w)|providing|assum\w+|subject|condition\w*"
    r"|depend\w*|contingent"
    r"|estimat\w*|predict\w*|theor\w*|calculat\w*|extrapolat\w*|simulat\w*|target\w*|goals?|aims?|experiment\w*|after"
    r"|before|beyond"
    r"|typical\w*|average\w*|nominal\w*|peak\w*|burst\w*|instantan\w*|max|maximum|maximal\w*|up\s?to|as\s+much\s+as"
    r"|best(?:\s|-)(?:effort|case|possible)|in\s+the\s+best|approx\w*|about|around|circa|ca|roughly|nearly|almost"
    r"|close\s+to|effective\w*"
    r"|logical\w*|raw(?=\s+(?:capacity|rate|performance|bandwidth|value|speed|throughput)|\W*$)|compress\w*|dedup\w*"
    r"|reduc\w*|thin|cach\w*|warm\w*|read-?ahead|in\s+(?:memory|the\s+cloud|principle|general|parts?)"
    r"|principle|broadly|generally|essentially|basically|substantially|spirit|half|minus|subscription|tranches?"
    r"|instal?lments?|on\s+paper|small\s+system|wear\s+and\s+tear|sister|verbal\w*"
    r"|understanding|knowledge|interpret\w*|(?:we\s+understand|understood)\s|prevail\w*|amend\w*|chang\w*|modif\w*"
    r"|as\s+(?:of|is)"
    r"|with\s+(?:comments?|remarks?|the\s+wording)|(?:general|our)\s+(?:terms|conditions|wording|version|definitions?)"
    r"|terms\s+of\s+\w+|our\s+\w+\s+description|cover\s+letter|together\s+with|passed\s+(?:through|on)|respective"
    r"|industry\s+standard"
    r"|premium|payments?|invoices?|option\w*|extra|additional\w*|separate\w*|surcharge\w*|charge\w*|cost\w*|priced?|fees?"
    r"|quot\w*"
    r"|purchas\w*|upgrad\w*|requires?|requiring|needs?|needed|recommend\w*|limit\w*|restrict\w*|reserv\w*|deviat\w*"
    r"|caveat\w*|void\w*"
    r"|not|cannot|can't|won't|don't|doesn't|isn't|no|none|never|neither|nor|without|lack\w*|partial\w*|partly|most|mostly"
    r"|largely"
    r"|mainly|some|few|several|may|might|could|should|would|ought|subset|instead|alternative\w*|equivalent|similar\w*"
    r"|comparable"
    r"|other\s+than|different\w*|smaller|fewer|less|lower|below|third[-\s]party\s+(?:software|hardware|components?"
    r"|products?|licen\w+)"
    r"|partners?|responsib\w*|negotia\w*|discuss\w*|n/?a|special\w*|custom(?:i[sz]\w*)?|(?:business|working"
    r"|office)\s+(?:days?|hours?)|nbd"
    r"|weekdays?|(?:provided|supplied|delivered|installed|borne|paid|done|performed"
    r"|operated)\s+by\s+(?:the\s+)?(?:customer|buyer|client)"
    r"|expir\w*|valid\s+(?:until|for|through)|ramp\w*|staged|tun(?:ed|ing)|optimi[sz]\w*|ideal\w*|certain|specific"
    r"|suitable|sufficient\w*"
    r"|adequate\w*|reasonabl\w*|efforts?|as\s+far|where(?:ver)?|possibl[ey]|probabl\w*|likely|read-?only|empty|fresh"
    r"|(?:achiev|reach|deliver|fulfil|support|satisf|measur|attain|provid|erfüll|erreich|liefer|garant|alcanz|realis"
    r"|realiz|raggiung|soddisf|atteign)\w*(?:abl[ey]|ibl[ey]|bar\w{0,2}|[ai]bil[ei])"
    # Infinitives: what is still to be confirmed; and the first of several years
    r"|(?:à|por|para|da)\s+[^\W\d_]+[aei]re?|a\s+[^\W\d_]{4,}[ai]re?|zu\s+(?:be|er|ge|ver)[^\W\d_]+en"
    r"|do\s+[^\W\d_]+[ae]nia|(?:first|initial|erste[nsr]?|premi[eè]re?s?|primer[ao]?|prim[oai]|pierwsz\w+)"
    r"\s+(?:\d+\s+)?(?:years?|months?|weeks?|jahre?n?|ann[ée]es?|an|años?|ann[oi]|rok\w*)"
    # Moods and tenses of what is not yet, and one unit of many
    r"|can\s+be|(?:will|shall)\s+(?:see|(?:be\s+)?confirm\w*)|wird\b[^.]*\bwerden|(?:confirm|conferm|verific|garanti|cumpl"
    r"|acept|accett)\w*[aei]r[áà]n?"
    r"|(?:sera|seront|ser[áà]n?|sarà|saranno)\s+(?:confirm|conferm|verifi|vérifi|valid)\w*|à\s+part"
    r"|(?:auf|mit|avec|sur|con|na)\s+(?:eine[mr]|une?|un[oa]|jedn\w+)"
    # The buyer's part: `client` is a machine in English, and the customer in French
    r"|(?:clients?|customers?|buyers?)\s+(?:is|are|has|have|will|shall|must|provid|suppl|deliver|instal|pay|bear|own"
    r"|operat|ensur|configur)\w*"
    r"|(?:by|par|le|du|au|chez|von|vom|beim|dal?|del|al|por)\s+(?:the\s+|le\s+|el\s+|il\s+|dem\s+)?client[ei]?"
    r"|s[ie]\s+(?:l[aeo]s?|l['’]|el|los|il|un[ae]?|the|votre|vos|nous|on|su|os?)\b|\w*(?:vorbehalt|abhängig|bedingt"
    r"|möglich)\w*|teilweise|nicht|ohne|sofern|falls|nur|à\s+terme|sous|r[ée]serve|sauf"
    r"|partiel\w*|riserva|salvo|parcial\w*)\b"
    r"|[\u0370-\u03bb\u03bd-\u04ff]+|[~≈*<≤?¹²³†‡…\u1f00-\u1fff\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\.\.\."
    r"|\b\d+\s*:\s*1\b",
    re.IGNORECASE,
)
#: Stems of words that consent, and references that stand alone.
CONSENTS = re.compile(
    r"\b(?:yes|ok|okay|compl(?:y|ies|iant|iance|ied|iantly)|conform\w*|conf[ei]rm\w*|met|binding|performed|meets?"
    r"|fulfil\w*|satisf\w*|accept\w*|agreed?"
    r"|agrees|inclu\w+|support(?:s|ed)?|guarantee\w*|warrant\w*|commit\w*|exceed\w*|surpass\w*|better|native\w*|provid\w+"
    r"|ja|oui|s[ií]|erf[üu]ll\w*|bestätig\w*|einhaltung|zugesichert|garanti\w*|nachgewiesen|eingehalten|enthalten"
    r"|inbegriffen|konform\w*|respect\w*"
    r"|compris\w*|compres[oaie]|cumpl\w*|soddisf\w*|deliver\w*|sustain\w*|reach\w*|achiev\w*|measured|tested|verified"
    r"|validated|proven|certified|witnessed"
    r"|see|refer|attached|enclosed|as\s+(?:requested|required|specified|stated|described|asked|demanded)|fully|full"
    r"|complete(?:ly)?"
    r"|uneingeschränkt\w*|unconditional\w*|ready|available|enabled|default|standard|throughout|always|covered|part\s+of"
    r"|granted|secured|done"
    # Of what meets, exceeds, covers, provides and belongs to what is asked for
    r"|übererfüllt|entspr[ieo]ch\w{0,2}|übertroffen|übertriff\w*|erreich(?:t|en)|bestanden|bestandteil|abgedeckt"
    r"|gewährleist\w*"
    r"|sichern|sichergestellt|bereitgestellt|mitgeliefert|geliefert"
    r"|covers?|couvren?t?|umfasst|umfassen|obejmuj\w+|garant[ií]\w*|garanzi\w|gwarancj\w+|pass(?:es|ed)|dépass\w+"
    r"|fourni\w*|livrée?s?|couvert\w*|super(?:an?|ano|at[oa]|ad[oa])|cubiert[oa]s?"
    r"|cubre|suministr\w+|entrega(?:mos|n|d[oa]s?)?|copert[oa]|copre|fornit[oaie]"
    r"|zapewni\w+|przewyższ\w+|pokrywa\w*|dostarcz\w+|uwzględnion\w+|nativ[ao]s?|acuerdo|accord"
    r"|inklusive?|unterstütz\w*|gemessen|nachweislich|enthält|engage(?:ons)?|répond(?:ent)?|tenu(?:e|es)?|atteint\w*"
    r"|mesuré\w*|support[ée]e?s?|disponible?s?"
    r"|alcanz[ao]\w*|soport[ao]\w*|incluid[ao]s?|medid[ao]s?|acept\w+|verificad[ao]s?|misurat[oaie]|supportat[oaie]"
    r"|accett\w+|raggiung\w*|verificat[oaie]|pres[oa]"
    r"|zawart\w*|gwarant\w*|zmierzon\w*|wliczon\w*|osiąga\w*|obsług\w*|akceptuj\w*|zweryfikowan\w*|verfügbar"
    r"|dostępn\w+"
    # Italian, Portuguese, Dutch, Swedish, Danish, Norwegian, Polish, Czech; whole sentences of Japanese, Chinese and Korean
    r"|sì|sim|tak|ano|cumpr\w*|atend\w*|rispett\w*|approvato|voldo[ae]\w*|voldaan|akkoord|bevestig\w*|inbegrepen"
    r"|uppfyll\w*|opfyld\w*"
    r"|oppfyl\w*|bekräft\w*|bekræft\w*|bekreft\w*|ing[åa]r|spełni\w*|potwierdz\w*|zgodn\w*|splň\w*|potvrz\w*|zugesagt"
    r"|zusage\w*"
    r"|akzept\w*|einverstanden|d['’]accord|remplie?s?|satisfait\w*|de\s+acuerdo|aceptad[oa]|accettat[oa]"
    r"|はい|(?:要件|要求|仕様)?[をにに]?(?:すべて|完全に)?(?:満たし|準拠し|適合し|対応し)(?:て(?:い|おり))?ます|準拠|適合|確認しました|承諾します"
    r"|是的?|(?:完全|均)?(?:满足|符合|响应)(?:所有|全部)?(?:该|本|此)?(?:要求|规格)?|确认|已确认|无偏离|예|네|준수합니다|충족합니다|확인합니다)\b",
    re.IGNORECASE,
)
#: The other words with which offers confirm, those of measurements and references among them; none of them alone does.
PLAIN_WORDS = re.compile(
    r"an?|the|this|that|these|those|it|its|ours?|we|us|you|yours?|they|their|them|which|who|whose|all|each|every|any|both"
    r"|to|of|in|is"
    r"|on|at|by|for|from|with|and|or|as|are|was|were|be|been|being|has|have|had|do|does|did|will|shall|can|so|such|also"
    r"|well|per|over"
    r"|under|during|within|through|via|into|than|then|here|there|above|across|against|same|even|more|very|own|out|holds?"
    r"|held|keeps?"
    r"|kept|shows?|shown|demonstrat\w+|prov(?:es?|en|ed)|runs?|ran|submit\w*|list(?:s|ed)?|describe[sd]?|state[sd]?"
    r"|document\w*"
    r"|attach\w*|enclos\w*|detail\w*|performances?|obtained|record(?:s|ed)?|observed?|used?|using|appl(?:y|ies|ied)|hereby"
    r"|declar\w*|undertake\w*|promise[sd]?|assur\w*|ensur\w*|acknowledg\w*|noted|contractual(?:ly)?|firm(?:ly)?"
    r"|fixed|exact(?:ly)?|precise(?:ly)?|entire(?:ly)?|whole|wholly|total(?:ly)?|clear(?:ly)?|correct|true|right"
    r"|certificat\w*"
    r"|requir\w*|request(?:s|ed)?|specif(?:y|ied|ications?)|expect|demand|clauses?|points?|items?|values?|figures?|numbers?"
    r"|rates?|results?|tests?|testing|measur\w*|logs?|reports?|data|sheets?|datasheets?|brochures?|manuals?|guides?"
    r"|handbooks?|lines?|paragraphs?|articles?|tables?|files?"
    r"|offer(?:s|ed|ing)?|propos\w*|bids?|tenders?|responses?|answers?|remarks?|comments?|questions?|contracts?|prices?|scope"
    r"|supply|supplied|jobs?|configur\w*|designs?|settings?|written|since|itself|sub|systems?|solutions?|products?"
    r"|platforms?|storage|clusters?|hardware|software|appliances?|servers?|ports?|controllers?|enclosures?|chassis"
    r"|adapters?|interfaces?|modules?|components?"
    r"|clients?|nodes?|drives?|racks?|features?|functions?|functionality|capabilit\w*|capacity|usable|net|throughput"
    r"|bandwidth|latency"
    r"|reads?|writes?|reading|writing|uncached|direct|i|o|threads?|process(?:es)?|streams?|queue|depth|blocks?|sizes?"
    r"|random|incompressible|sequential|aggregate|mandatory|years?|terms?|months?|weeks?"
    r"|days?|hours?|minutes?|benchmarks?|description|bandbreite|anbieter|volle[mnrs]?|gegeben|soumissionnaire|prestations?"
    r"|contrat|licitador|licencias?|offerente|licencj\w+|wszystki\w+|models?|components?|composants?|componenti"
    r"|componentes|komponenten|element[yi]"
    r"|forderung(?:en)?|mesures|produttore|producent\w*|quanto|económic[oa]|economic[oa]|całoś\w+|konzept|references?"
    r"|architectures?|obligations?|whole|seconds?|long|duration|period"
    r"|warranty|services?|maintenance|team|administrators?|departments?|legal|management|experts?|specialists?|engineers?"
    r"|engineering|staff|vendors?"
    r"|suppliers?|manufacturers?|company|technical|commercial|base|basic|normal|factory|box|production|current(?:ly)?"
    r"|already|today|now"
    r"|licen[cs]e[sd]?|activ(?:e|ated)|protocols?|site|margins?|headroom|conservative|continuous(?:ly)?|constant(?:ly)?"
    r"|permanent(?:ly)?"
    r"|steady|sets?|samples?|cop(?:y|ies)|first|last|shipment|order|proof|evidence|validation|verification|inspection"
    r"|repetitions?|times"
    r"|higher|faster|greater|larger|good|pleas\w*|thank\w*|kindly|nothing|add|parts?|spares?|parity|protection|load"
    r"|conditions?|identical"
    r"|versions?|release|pages?|sections?|annex|appendix|chapter|time|round|clock|[acg]li|[ag]?ui|apis?|encrypt\w*"
    r"|redundan\w*|snapshots?"
    r"|quotas?|aes|fips|posix|rdma|nfs|smb|csi|kerberos|ldap|snmp|roce|infiniband|ethernet|nvme|fio|ior|mdtest|elbencho|dlio"
    r"|de[rnsm]|die|das|ein\w*|und|im|ist|sind|wird|werden|wir|bei|zu[rm]?|siehe|seite|anlage|anhang|abschnitt|kapitel"
    r"|preis|angebot"
    r"|abnahme|voll|vollständig|vollumfänglich|wie|gefordert\w{0,2}|verlangt|gemäß|datenblatt|anforderung|werte?[ns]?|auch"
    r"|alle[nrs]?"
    r"|l[ea]s?|du|dans|aux?|al|prix|notre|offre|voir|annexe|est|sont|sera|à|réception|recette|et|valeur|exigence|fiche"
    r"|technique"
    r"|el|los?|del|en|precio|oferta|ver|página|anexo|se|demostrará|recepción|valor|requisitos?|y|il|nel|prezzo|vedi|pagina"
    r"|nous|la|cette|entièrement|pleinement|totalement|intégralement|exigences?|ensemble|toutes?|tous|les|par"
    r"|esta|este|todos?|todas?|plenamente|integralmente|totalmente|completamente|íntegramente|por|o|os|as|da|do|na|preço"
    r"|em|com|são|será|está"
    r"|è|sono|pienamente|interamente|requisit[oi]|valore|della|dei|di|per|viene|aan|de|het|eis(?:en)?"
    r"|volledig|alle|deze|wij|wordt|prijs|krav(?:et|en)?|helt|fullt|fuldt|i|priset|prisen|vi|och|og|det|den|är|er|w|pełni"
    r"|wymaga[nń]\w*"
    r"|plně|požadav\w*|anforderungen|hiermit|selbstverständlich|vollumfänglich|uneingeschränkt|restlos|dies\w*|wurde|haben"
    r"|unser\w*"
    r"|mit|von|vom|handbuch|liegt|eigene[mnrs]?|am|durchsatz|kapazität|protokoll|testprotokoll|messung(?:en)?|hersteller"
    r"|basislizenz|uns|sich|aus|über|während|innerhalb|hat|wurden|werden|vorhanden|erfolgt|nachweise?s?|leistung"
    r"|gerät\w{0,2}|nutzung|vertrag\w{0,2}|auf|an|für|durch|als|dem|konfiguration(?:en)?|lieferung|lieferumfang"
    r"|installation|einweisung|schulung|bericht\w{0,2}|prüfbericht|messwerte?"
    r"|referenz(?:system|plattform)\w{0,2}|funktion(?:en)?|lizenz(?:en)?|aktiv(?:iert)?|technische[mnrs]?|gilt|gelten"
    r"|termine?|frist(?:en)?|knoten|vollem|umfang|hier|bitte|allen|punkten"
    r"|avec|pour|pendant|débit|besoins?|capacité|exigée?s?|chiffrée?s?|constructeur|fabricant|durant|lors|depuis|ont"
    r"|été|seront|contractuel\w*|équipement|baie|ainsi|bien|produit|également|une?|un[oa]s?|también|anche|również|délais?"
    r"|livraison|plateforme|référence|rapport|essais?|laboratoire|activée?s?|fonctions?|fonctionnalités?|valeurs?|mise"
    r"|service|matériel|spécifi\w+|cahier|société|ici|joint"
    r"|íntegr[oa]|propuest[oa]s?|funcionalidad(?:es)?|fabricante|instalación|primera|capacidad|durante|entre|sobre|ha|han"
    r"|serán|equipos?|rendimiento|contractual(?:mente)?|producto|modelo|v[eé]ase|fichas?|técnic[oa]s?|ofertad[oa]s?"
    r"|tecnic(?:[ao]|he)|laboratorios?|configuraci[óo]n(?:es)?|configurazion[ei]|configurations?|pruebas?|plazos?|entrega"
    r"|función|funciones|plataforma|referencia|informe|habilitad[oa]s?|hoja|datos|valores|contrato|pliego|servicio"
    r"|dall[ao]?|dal|nell[ao]?|dell|all|l|d|c|s|nei|si|ci|sul|da|su|come|allegata|funzionalità|capacità|costruttore|presso"
    r"|hanno|stat[oa]|viene|vengono|apparat[oi]|prestazion[ei]|prodotto|consegna|termini|prov[ae]|piattaforma|riferimento"
    r"|rapporto|funzion[ei]|abilitat[oa]|scheda|laboratori?o?|licenz[ae]|valori|capitolato|contratto|servizio"
    r"|ten|tę|ta|funkcj\w+|standardow\w+|przepustowoś\w+|pojemnoś\w+|wykonawc\w+|to|się|dla|przez|podczas|u|odbi[oó]r\w*"
    r"|wydajnoś\w+|został\w*|urządzeni\w+|produkt\w{0,2}|tego|te|we|z|ze|na|do|oraz|i|jest|są|nasz\w*"
    r"|podan\w*|wartoś\w*|wym[oó]g\w*|ofer(?:ta|ty|cie|tą|owan\w*)|kart[aąyę]|katalogow\w*|techniczn\w*|cen(?:a|ie|y|ę)"
    r"|laboratorium|system(?:y|u|em)?|rozwiązani\w*|konfiguracj\w*|termin\w*|dostaw\w*|raport\w*|pełn\w+|całkowicie|punkt\w*"
    r"|des|es|sie|ihr\w*|zum|somit|punkte?n?|vorgaben?|kriteri\w*|genannt\w*|angegeben\w*|angeboten\w*|lösung|c[eo]|cet"
    r"|ces|cela|nos|votre"
    r"|vos|elle|on|sur|critères?|système|propos[ée]\w*|demand[ée]\w*|indiqu[ée]\w*|con|lo|su|sus|nuestr\w*|esto|dichos?"
    r"|dichas?|punto"
    r"|sistema|solución|ofrecid\w*|indicad\w*|solicitad\w*|queda|gli|alla|ai|nostr\w*|quest[oaie]|tutt[ie]|soluzione"
    r"|offert\w*|richiest\w*"
    r"|indicat\w*|aos?|à|isto|noss\w*|solução|proposta|ponto|dit|dat|een|onze|ons|systeem|oplossing|aanbieding|gevraagde?"
    r"|vereiste?n?|aangeboden"
    r"|gestelde?|punt|van|detta|dette|vår\w*|vores|systemet|l[öø]sning\w*|tilbud\w*|erbjud\w*|som|a[vf]|til",
    re.IGNORECASE,
)
#: Words with which offers confirm in Cyrillic and Greek letters, and those of such confirmations; any other word stays to decide.  # noqa: E501
OTHER_SCRIPTS = (
    (" confirmed ", re.compile(
        r"\b(?:да|соответству(?:ет|ют|ем)|подтвержда(?:ем|ю|ется)|подтвержден[оаы]?|выполн(?:ено|ены|ен|яется|яются|яем)"
        r"|включен[оаы]?|включён|входит"
        r"|поддержива(?:ет|ется|ются|ем)|соглас(?:ны|ен)|принима(?:ем|ется)|гарантиру(?:ем|ется)|обеспечива(?:ет|ется|ем)"
        r"|измерен[оаы]?|так|відповідає|підтверджуємо"
        r"|ναι|συμμορφών\w+|συμμορφωνόμαστε|επιβεβαιών\w+|πληρο[ίύ]\w+|πληροίται|(?:συμ)?περιλαμβάν\w+|υποστηρίζ\w+"
        r"|αποδεχόμαστε|αποδεκτ[όήά]|εγγυ(?:όμαστε|άται|ημέν\w{1,2})"
        r"|καλύπτ(?:εται|ουμε|ει)|ικανοποι(?:εί|είται|ούμε)|συμφων(?:ούμε|εί)|μετρήθηκε|ισχύει)\b", re.IGNORECASE)),
    (" ", re.compile(
        r"\b(?:требовани[еяюйем]+|полностью|полном|объ[её]ме|в|на|и|по|см|согласно|технич\w+|паспорт\w{0,2}|спецификаци\w+"
        r"|значени[еяю]|соответствие|указанн\w+|наш\w{0,3}|предлагаем\w+|предложенн\w+|предложени\w+"
        r"|систем\w{0,2}|решени\w+|стоимост\w+|цен[аыуе]|конфигураци\w+|данн\w+|эт\w{1,3}|все|всем|всех|мы|протокол\w{0,2}"
        r"|скорост\w{0,2}|пропускн\w+|способност\w{0,2}|[её]мкост\w{0,2}|испытани\w+|пункт\w{0,2}|стандартн\w+|вимог\w+"
        r"|повністю"
        r"|ο|η|το|οι|τα|τον|την|τη|του|της|τις|των|στ[οηα]ν?|στις|και|με|μας|απαίτησ\w+|απαιτήσ\w+|τιμή|τιμής|τιμές|πλήρως"
        r"|όλ\w{1,3}|είναι|βλ|βλέπε|σύμφωνα|τεχνικ\w+"
        r"|φυλλάδι\w*|ταχύτητα|χωρητικότητα|προδιαγραφ\w+|προσφορά\w?|προσφερόμεν\w+|σύστημα|λύση|αυτ\w{1,3}|όρ(?:οι|ους)"
        r"|εγκατάσταση|παράδοση\w?)\b", re.IGNORECASE)),
)  # fmt: skip
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
    if later := next((found[0] for found in DATES.finditer(text) if _is_to_come(found)), ""):
        return f"names {later}, which is to come"
    text = DENIALS.sub(" confirmed ", REFERENCES.sub(" see ", DATES.sub(" ", text)))
    for instead, words in OTHER_SCRIPTS:
        text = words.sub(instead, text)
    if limit := limiting(text):
        return limit
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


def _is_to_come(date: re.Match[str]) -> bool:
    """Whether a date is in a later month than today."""
    today, name = datetime.date.today(), date["name"]
    named = next((number for number, month in enumerate(MONTHS, 1) if name and re.fullmatch(month, name, re.IGNORECASE)), 0)
    return (int(date["iso"] or date["year"] or date["named"]), named or int(date["iso_month"] or date["month"])) > (
        today.year, today.month)  # fmt: skip


def more_than(text: str, required: str = "") -> str:
    """The words of a text that are neither plain nor those of what is required, as a phrase; empty where there are none."""
    own = {word.rstrip("s") for word in _WORD.findall(required.lower())}
    more = [word for word in _WORD.findall(text) if not (word.lower().rstrip("s") in own or _is_plain(word))]
    return f"says more: {_quoted(more)}" if more else ""


def _is_plain(word: str) -> bool:
    """Whether a word, or each part of a compound, confirms, belongs to a confirmation, or is a unit."""
    return all(
        CONSENTS.fullmatch(part) or PLAIN_WORDS.fullmatch(part) or _UNIT_WORD.fullmatch(part)
        for part in re.split("[-'’]", word)
    )
