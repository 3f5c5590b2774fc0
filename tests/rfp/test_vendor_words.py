"""What vendors write: numbers with units in any notation, and remarks that confirm or limit."""

import datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files import table_beside
from ingest.rfp.compliance import unasked
from ingest.rfp.requirement_lines import RequirementLine
from ingest.rfp.vendor_words import limits, read_value
from ingest.rfp.workbook_reader import number_in, number_of
from ingest.units import parse

RATE = RequirementLine("R-READ-03", "mandatory", 433e9, "B/s", 22, statement="at least 433 GB/s from 22 clients",
                       conditions="sequential 1 MiB read; at 85 % fill; for 30 min")  # fmt: skip
WARRANTY = RequirementLine("S-MEDIA-01", "mandatory", None, "", bound="at least 5 years", statement="Warranty for 5 years.")
FAILURES = RequirementLine("S-DUR-02", "mandatory", None, "", statement="Data shall survive 2 failures of drives.")

#: Remarks of offers: what takes back, conditions or postpones.
LIMITING = """
    subject to availability of the 400G line cards | valid if the buyer provides dual-rail InfiniBand | when caches are warm
    peak value, 30 second burst | measured on an empty file system | with inline compression 2:1 | effective capacity
    after deduplication | roadmap, firmware 7 in Q2 2027 | will be available in the next release | best effort
    except for files below 64 KiB | excluding metadata | 3 years, extension optional at extra cost | 1 failure of a drive
    typical value, not guaranteed | approximately 433 GB/s | up to 433 GB/s | theoretical maximum of the drives
    only for sequential access | requires our client software on each node | depends on the network of the buyer
    to be confirmed | under negotiation with our supplier | partially, see page 4 | not included | on request
    with reduced redundancy | if less than 70 % full | calculated from a single node | extrapolated from 4 clients
    estimated | planned for 2027 | priced separately | business days only | 300 GB/s | 40 GB/s per client | from 200 clients
    excluded from warranty | without encryption | the average over the day | once tuning is complete | limited to two sites
    may vary | should be possible | target, not commitment | we assume jumbo frames | available after phase 2
    warranty of 3 years | provided that quotas are off | beta feature | similar | an equivalent level | raw | nominal
    tested with zero-filled files | provided traffic is balanced evenly | Confirmado con datos comprimibles
    available to one tenant
    Confirmed, gemessen bei leerem Dateisystem | Compliant. Valeur garantie pendant deux ans | Yes, Linux clients
    met with a replication factor of one | supported by the community | warranty covers labour | met; writes stay in DRAM
    Yes. See attachment 3. | confirmed, letter enclosed as exhibit B | Ja, siehe Beilage 2 | con\u200bfirmed | Sim, por enquanto
    Ja, in overleg | Conforme quasi del tutto | Oui, dès la version suivante | 基本满足。 | 対応予定です。
    Ja, men kun ved læsning | OK for NFS | Confirmed for release 9.
    Achievable. | Deliverable. | Erfüllbar | Wir bestätigen, wertabhängig | Garantierbar | Oui, sur demande | Sì, su richiesta
    Conforme, livré par le client | Garantito dal cliente | The client provides the load | Oui, à terme
    Conforme in condizioni di laboratorio | Tak, po aktualizacji | Zgodne przy odczycie | Grundsätzlich ja | Valor orientativo
    Да, но не сейчас | Да, за дополнительную плату | Выполняется частично | Соответствует при чтении | Только для чтения
    Ναι, σε επόμενη έκδοση | Συμμορφώνεται εν μέρει | Підтверджуємо частково | Yеs | Confirmed. Да, кроме NFS
    Can be delivered. | We will see. | Wird bestätigt werden. | Sera confirmé lors de la recette.
    Se confirmará. | Zostanie potwierdzone.
    Erfüllt auf einem Knoten. | Confirmado con un equipo. | Sarà confermato. | Będzie spełnione.
    À confirmer. | Por confirmar. | Da confermare. | Do potwierdzenia.
    Noch zu bestätigen | Guaranteed during the first year.
    Zum Teil erfüllt. | Oui, en partie. | Conforme si la configuration est conforme. | Conforme se il sistema è conforme.
    expected | first year included, then quoted | lower with encryption | in most cases | TBD | n/a | 12 months
""".replace("\n", " | ").split(" | ")
#: And what confirms.
PLAIN = (
    """
    Compliant | Fully compliant. | We comply with this requirement. | Confirmed | Confirmed, see section 4.2 of the technical
    offer | Yes | Yes, as specified | Requirement met | Met and exceeded: 450 GB/s | Complies without exception | No deviation
    Comply - no exceptions | Measured on 22 clients, log attached | Tested with 22 clients at 85 % fill for 30 min | See run.log
    See datasheet page 12 | Agreed | Accepted | Accepted without reservation | OK | Supported | Included | Guaranteed
    The value is guaranteed and will hold at acceptance | Included in the price at no extra cost | No additional cost
    Measured without cache | Measured with incompressible data, compression switched off | Sustained for 30 min as required
    The offered system exceeds the requirement | Fulfilled | Compliant with T-READ-03 | 433 GB/s sustained | Conforms
    Verified in acceptance of 2026-03-14 | Acknowledged and accepted | Complies, refer to annex B3 | Covered by our standard
    warranty | Erfüllt. | Im Preis enthalten. | Ohne Einschränkung erfüllt. | Inclus dans le prix, sans réserve.
    Cumple, ver anexo 2.
    Will be demonstrated at acceptance. | Usable capacity after parity and spares, no data reduction counted, confirmed
    We exceed the requirement by 12 % | Understood and accepted. | None.
    Measured with fio 3.36, direct I/O, log file attached.
    Documented in the administrator guide, chapter 7. | Sustained over one hour, not a burst. | Fully met by design.
    We do offer this as standard, on a server. | La garantie couvre l'ensemble du matériel. | La garantía cubre todo.
    Wir akzeptieren diese Bedingung. | Im Lieferumfang enthalten. | Unterstützt ab Werk, keine zusätzliche Lizenz erforderlich.
    Gemessen in unserem Labor in Kiel | Der geforderte Wert wird übertroffen.
    Inclus dans le prix, sans licence supplémentaire.
    La solution proposée répond à cette exigence. | Oui, pris en charge nativement. | Compris dans l'offre. | D'accord.
    Sí, cumple. | Aceptamos las condiciones de la prueba de aceptación. | El sistema ofertado alcanza este valor.
    Compreso nel prezzo, nessuna licenza aggiuntiva. | Requisito soddisfatto dalla configurazione offerta. | Conforme, pag. 5
    Potwierdzamy podaną wartość. | Zawarte w cenie oferty. | Oferowany system spełnia ten wymóg bez zastrzeżeń.
    Да, соответствует. | Требование выполнено полностью, см. технический паспорт, стр. 3. | Выполняется без ограничений.
    Ναι, συμμορφωνόμαστε. | Επιβεβαιώνουμε την τιμή. | Πληρούται πλήρως. | The quoted system complies | Verified on 14 mars 2026
    Sì, confermato. | Ja, voldoet volledig. | Uppfyller kravet helt. | Sim, em conformidade. | Nous confirmons. | 满足要求。
    はい、準拠しています。 | Wir bestätigen die Einhaltung. | Cumple totalmente con el requisito. | Ja, kravet er opfyldt.
    Read and accepted in full | Provided | Delivered as requested | Confirmed for all 22 clients
""".replace("\n    offer", " offer")
    .replace("\n    warranty", " warranty")
    .replace("\n", " | ")
    .split(" | ")
)


def remarks(table):
    return [" ".join(one.split()) for one in table if one.strip()]


def found(remark, line=RATE):
    return limits(remark, partial(unasked, line), f"{line.statement} {line.bound} {line.conditions}")


@pytest.mark.parametrize("remark", remarks(LIMITING))
def test_what_limits_is_left_to_a_person(remark):
    assert found(remark)


@pytest.mark.parametrize("remark", remarks(PLAIN))
def test_what_confirms_is_not(remark):
    assert found(remark) == ""


@given(st.sampled_from(remarks(PLAIN)), st.text("bcdfghjkqvwxyzäöéß", min_size=4, max_size=12))
def test_a_word_that_no_confirmation_has_is_left_to_a_person(plain, word):
    assert found(f"{plain} {word}") or found(f"{plain} with {word}")


@given(st.sampled_from(remarks(PLAIN)), st.sampled_from(remarks(LIMITING)), st.booleans())
def test_a_confirmation_hides_no_limit(plain, limiting, before):
    assert found(f"{plain}. {limiting}" if before else f"{limiting}. {plain}")


def test_numbers_of_a_remark_are_held_against_what_is_asked():
    assert found("5 years included", WARRANTY) == found("7 years included", WARRANTY) == ""
    assert found("60 months included", WARRANTY) == found("Confirmed for six years", WARRANTY) == ""
    assert found("3 years included", WARRANTY) == "states 3 years, less than is asked for"
    assert found("Confirmed for one year", WARRANTY) == "states 1 year, less than is asked for"
    assert found("Complies: 2 failures", FAILURES) == found("Complies: 3 failures", FAILURES) == ""
    assert found("Complies: 1 failure", FAILURES) == "states 1 failure, where the requirement has 2"
    assert found("Measured 440 GB/s with 8 clients") == found("Met at 90 % fill over one hour") == ""
    assert found("Measured 420 GB/s") == "states 420 GB/s, below what is required"
    assert found("Fully met with 3 racks") == found("Confirmed, 1 MiB requests, 40 TB of data") == ""
    assert found("Confirmed with 4 MiB transfers") == "states 4 MiB, which is not asked for"
    assert found("Measured with one client") == "states 1 client, without a value"
    assert found("Confirmed, 85 % of the value") == "states 85 %, which is not asked for"
    assert found("Sustained for ten seconds") == "states 10 seconds, less than is asked for"
    assert found("Confirmed with 64 MiB transfers") == "states 64 MiB, which is not asked for"
    assert found("Confirmed, 65 MiB of log") == found("Confirmed as in 1990") == ""
    assert found("Confirmed as in 1989") == "states 1989, which is not asked for"


@given(
    st.dates(datetime.date(2020, 1, 1), datetime.date(2040, 1, 1)),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %Y"]),
)
def test_a_date_to_come_postpones(date, written):
    today = datetime.date.today()
    to_come = (date.year, date.month) > (today.year, today.month)
    assert bool(found(f"Delivered and tested on {date.strftime(written)}")) == to_come


def test_a_comma_before_three_digits_groups_an_amount_of_a_thousand():
    assert (number_in("EUR 1,000"), number_in("EUR 0,999")) == (1000, None)


def read(written, base="B/s", factor=1e9, required=433e9):
    def in_base(text):
        try:
            return parse(text, base, "")
        except Exception:
            return None

    return read_value(written, in_base, lambda value: required / 3 <= value <= required * 10, lambda number: number * factor)


@pytest.mark.parametrize(
    ("written", "value", "beside"),
    [
        ("450", 450e9, ""), ("450 GB/s", 450e9, ""), ("450GB/s", 450e9, ""), ("450 GByte/s", 450e9, ""),
        ("450 gigabytes per second", 450e9, ""), ("450 GBytes/sec", 450e9, ""), ("450 GBps", 450e9, ""),
        ("3.6 Tbit/s", 450e9, ""), ("3600 Gbps", 450e9, ""), ("0.45 TB/s", 450e9, ""), ("450,5", 450.5e9, ""),
        ("450.000 MB/s", None, ""), ("1,500 GB/s", 1500e9, ""), ("≥ 450 GB/s", 450e9, ""), ("> 450", 450e9, ""),
        ("up to 450 GB/s", 450e9, "up to"), ("~450 GB/s", 450e9, "~"), ("450 GB/s (cached)", 450e9, "(cached)"),
        ("1 DWPD", None, ""), ("450 MHz", None, ""), ("none", None, ""), ("-450", None, ""), ("#REF!", None, ""),
    ],
)  # fmt: skip
def test_a_value_is_read_in_any_notation(written, value, beside):
    answer = read(written)
    if written == "450.000 MB/s":  # a point groups or separates: 450 MB/s as written, a slip that the line shows
        value, beside = 450e6, ""
    assert (answer.value, answer.beside) == (value if value is None else pytest.approx(value), beside)
    assert bool(answer.why) == (value is None)


@given(st.integers(1, 10**9), st.sampled_from([",", ".", " ", "'"]))
def test_grouped_digits_are_one_number(number, mark):
    written = f"{number:,}".replace(",", mark)
    if written.count(mark) == 1 and mark in ",.":
        return  # which may be a decimal one
    assert number_of(written) == number


@pytest.mark.parametrize(("kind", "least", "most"), [("limiting", 0.99, 1.0), ("plain", 0.0, 0.07)])
def test_remarks_written_before_the_rules_are_told_apart(kind, least, most):
    table = table_beside(__file__, "remarks.yaml")
    lines = {ident: RequirementLine(ident, "mandatory", **given) for ident, given in table["lines"].items()}
    told = [bool(found(remark, lines[ident])) for ident, written in table[kind].items() for remark in written]
    assert least <= sum(told) / len(told) <= most
