"""Sensitive fields: answers that must not decide who gets coupons unless the study says so (`use = true`).

They are recognised by the words of a column's name in seven languages, and by answers that leave no doubt (positive and
negative; names of religions). `docs/reference/sensitive-fields.md` lists them all, and a test holds the two equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from peerfront.data.columns.column_contents import Phrase, phrases, plain, says, words_of
from peerfront.foundation.messages import Message, note

MEANING = note("sensitive.meaning")
"""What using a sensitive field means, in one sentence."""
LANGUAGES = ("English", "Spanish", "French", "Portuguese", "German", "Russian", "Swahili")
_TELLING_ANSWERS = 2  # different answers of a topic from which on the topic is certain
_MOST_ANSWERS = 50  # a column with more different answers is free text


@dataclass(frozen=True)
class Topic:
    """A kind of sensitive answer, and how columns that hold it are usually named."""

    title: Message
    names: dict[str, tuple[str, ...]]
    """By language; a name of several words is found whatever stands between them and in any order."""
    answers: tuple[str, ...] = ()
    """Answers that only this topic has."""
    other_answers: tuple[str, ...] = ()
    """Answers that show that a column is about something else: a third colour beside black and white."""
    listed: tuple[Phrase, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every = tuple(phrase for names in self.names.values() for phrase in phrases(*names))
        object.__setattr__(self, "listed", every)


TOPICS = (
    Topic(
        note("sensitive.tests"),
        {
            "English": (
                "hiv", "hiv status", "hiv result", "hivpos", "aids", "plhiv", "plwh", "serostatus", "seropositive",
                "serology", "viral load", "cd4", "test result", "lab result", "rapid test", "syphilis", "gonorrhea",
                "gonorrhoea", "chlamydia", "hepatitis", "hbv", "hcv", "hbsag", "hpv", "hsv", "herpes", "sti", "std",
                "tuberculosis", "tb", "covid", "malaria test", "reactive", "infected", "infection", "disease",
                "diagnosis", "diagnosed", "prep use", "antiretroviral", "drug test", "pregnancy test",
            ),
            "Spanish": (
                "vih", "sida", "estado serologico", "seropositivo", "carga viral", "resultado prueba", "prueba rapida",
                "sifilis", "gonorrea", "clamidia", "its resultado", "ets", "enfermedad", "diagnostico", "infeccion",
            ),
            "French": (
                "vih", "statut serologique", "seropositif", "seropositivite", "charge virale", "resultat test",
                "depistage", "ist depistage", "mst", "hepatite", "blennorragie", "maladie", "tuberculose",
                "diagnostique",
            ),
            "Portuguese": (
                "hiv", "sorologia", "soropositivo", "carga viral", "resultado teste", "teste rapido", "exame resultado",
                "ist resultado", "dst", "doenca", "clamidia", "infeccao",
            ),
            "German": (
                "hiv", "testergebnis", "test ergebnis", "befund", "viruslast", "syphilis", "tripper", "krankheit",
                "diagnose", "infektion", "infiziert", "tuberkulose", "chlamydien",
            ),
            "Russian": (
                "вич", "спид", "вич статус", "результат теста", "результат анализа", "сифилис", "гепатит", "туберкулез",
                "гонорея", "хламидиоз", "иппп", "зппп", "диагноз", "инфекция", "вирусная нагрузка",
            ),
            "Swahili": (
                "vvu", "ukimwi", "hali ya vvu", "matokeo kipimo", "kaswende", "kisonono", "kifua kikuu", "ugonjwa",
                "magonjwa zinaa", "homa ya ini",
            ),
        },
        (
            "positive", "negative", "pos", "neg", "positivo", "negativo", "positif", "negatif", "positiv", "negativ",
            "положительный", "отрицательный", "reactive", "nonreactive", "non reactive", "reactivo", "no reactivo",
            "hiv positive", "hiv negative", "hiv pos", "hiv neg", "seropositive", "seronegative", "indeterminate",
        ),
        ("neutral", "mixed", "very positive", "very negative"),
    ),
    Topic(
        note("sensitive.race"),
        {
            "English": (
                "race", "racial", "ethnic", "ethnicity", "ethnic group", "hispanic", "latino", "latina", "latinx",
                "skin color", "skin colour", "skin tone", "tribe", "tribal", "caste", "ancestry", "indigenous", "roma",
                "aboriginal", "first nations", "afro descendant",
            ),
            "Spanish": (
                "raza", "racial", "etnia", "etnico", "etnicidad", "grupo etnico", "color piel", "indigena",
                "afrodescendiente", "pueblo originario", "tribu", "casta",
            ),
            "French": (
                "race", "ethnie", "ethnique", "groupe ethnique", "couleur peau", "tribu", "caste", "origine ethnique",
                "autochtone",
            ),
            "Portuguese": ("raca", "raca cor", "cor pele", "etnia", "etnico", "indigena", "quilombola", "tribo"),
            "German": ("rasse", "ethnie", "ethnisch", "ethnische", "hautfarbe", "volksgruppe", "stamm"),
            "Russian": ("раса", "этнос", "этничность", "этническая", "национальность", "цвет кожи", "племя"),
            "Swahili": ("kabila", "asili", "rangi ya ngozi", "mbari", "ukabila"),
        },
        (
            "hispanic", "latino", "latina", "latinx", "caucasian", "african american", "asian american",
            "pacific islander", "native american", "mestizo", "mestiza", "mulato", "mulata", "afrodescendiente",
            "indigena", "pardo", "preto", "branco", "amarelo", "white", "black", "asian", "hutu", "tutsi", "roma",
            "alaska native", "black or african american", "hispanic or latino", "white non hispanic",
            "black non hispanic",
        ),
        ("red", "blue", "green", "grey", "gray", "silver"),
    ),
    Topic(
        note("sensitive.orientation"),
        {
            "English": (
                "orientation", "sexual orientation", "sexual identity", "sexuality", "gender identity", "transgender",
                "trans", "lgbt", "lgbtq", "lgbtqi", "msm", "gay", "lesbian", "bisexual", "homosexual", "heterosexual",
                "queer",
            ),
            "Spanish": (
                "orientacion", "orientacion sexual", "identidad sexual", "identidad genero", "hsh", "transgenero",
                "homosexual", "lesbiana",
            ),
            "French": (
                "orientation", "orientation sexuelle", "identite sexuelle", "identite genre", "hsh", "transgenre",
                "homosexuel", "lesbienne",
            ),
            "Portuguese": (
                "orientacao", "orientacao sexual", "identidade sexual", "identidade genero", "hsh", "transgenero",
            ),
            "German": (
                "sexuelle orientierung", "orientierung", "geschlechtsidentitat", "sexualitat", "schwul", "lesbisch",
                "homosexuell",
            ),
            "Russian": ("ориентация", "сексуальная ориентация", "гендерная идентичность", "мсм", "лгбт", "гей"),
            "Swahili": ("mwelekeo kijinsia", "mwelekeo wa kijinsia", "ushoga", "shoga", "msagaji"),
        },
        (
            "heterosexual", "homosexual", "bisexual", "gay", "lesbian", "straight", "queer", "asexual", "pansexual",
            "hetero", "homo", "homosexuel", "bisexuel", "schwul", "lesbisch", "cisgender", "transgender",
        ),
    ),
    Topic(
        note("sensitive.religion"),
        {
            "English": (
                "religion", "religious", "religiosity", "faith", "denomination", "sect", "church", "mosque", "worship",
                "muslim", "christian", "catholic", "hindu", "jewish",
            ),
            "Spanish": ("religion", "religioso", "religiosa", "creencia", "iglesia", "culto"),
            "French": ("religion", "religieux", "religieuse", "confession", "eglise", "croyance", "culte"),
            "Portuguese": ("religiao", "religioso", "religiosa", "igreja", "crenca", "culto"),
            "German": ("religion", "religios", "religionszugehorigkeit", "konfession", "glaube", "kirche"),
            "Russian": ("религия", "вероисповедание", "вера", "конфессия", "церковь"),
            "Swahili": ("dini", "imani", "kanisa", "msikiti", "dhehebu"),
        },
        (
            "christian", "muslim", "islam", "islamic", "catholic", "protestant", "orthodox", "hindu", "buddhist",
            "jewish", "sikh", "pentecostal", "evangelical", "atheist", "catolico", "catolica", "evangelico",
            "evangelica", "musulman", "catholique", "protestante", "katholisch", "evangelisch", "muslimisch",
            "православный", "мусульманин", "mkristo", "mwislamu", "roman catholic",
        ),
    ),
    Topic(
        note("sensitive.legal"),
        {
            "English": (
                "legal status", "immigration", "immigrant", "immigration status", "migration status", "migrant status",
                "residence status", "residence permit", "resident permit", "visa", "undocumented", "documented",
                "citizenship", "citizen", "nationality", "asylum", "refugee", "deported", "deportation", "arrest",
                "arrested", "prison", "jail", "incarcerated", "incarceration", "criminal", "convicted", "conviction",
                "parole", "probation", "police",
            ),
            "Spanish": (
                "estatus legal", "estado migratorio", "situacion migratoria", "estatus migratorio", "migratorio",
                "indocumentado", "ciudadania", "nacionalidad", "refugiado", "asilo", "detenido", "arrestado", "carcel",
                "prision", "antecedentes penales", "visado", "permiso residencia",
            ),
            "French": (
                "statut legal", "statut migratoire", "titre sejour", "carte sejour", "sans papiers", "citoyennete",
                "nationalite", "refugie", "asile", "arrestation", "prison", "casier judiciaire", "condamnation",
            ),
            "Portuguese": (
                "situacao legal", "situacao migratoria", "status migratorio", "cidadania", "nacionalidade", "refugiado",
                "asilo", "preso", "prisao", "detido", "indocumentado", "visto residencia", "antecedentes criminais",
            ),
            "German": (
                "aufenthaltsstatus", "aufenthaltstitel", "rechtsstatus", "aufenthalt status", "staatsangehorigkeit",
                "staatsburgerschaft", "nationalitat", "fluchtling", "asyl", "duldung", "haft", "gefangnis",
                "vorbestraft", "verhaftet", "visum",
            ),
            "Russian": (
                "правовой статус", "миграционный статус", "гражданство", "вид на жительство", "беженец", "виза",
                "судимость", "арест", "тюрьма", "заключение",
            ),
            "Swahili": (
                "uraia", "hadhi ya kisheria", "mkimbizi", "wakimbizi", "uhamiaji", "kibali makazi", "gereza", "jela",
                "kukamatwa",
            ),
        },
        ("undocumented", "asylum seeker", "refugee", "sin papeles", "indocumentado", "sans papiers", "беженец"),
    ),
)  # fmt: skip


def sensitive_topic(name: str, answers: Iterable[str] = ()) -> Message | None:
    """Return what a column's name or its different answers say about people that is sensitive, if anything."""
    for topic in TOPICS:
        if says(name, topic.listed):
            return topic.title
    spoken = [" ".join(words_of(answer)) for _, answer in zip(range(_MOST_ANSWERS + 1), answers, strict=False)]
    if len(spoken) > _MOST_ANSWERS:
        return None
    for topic in TOPICS:
        telling = len(set(spoken).intersection(map(plain, topic.answers)))
        if telling >= _TELLING_ANSWERS and not set(spoken).intersection(topic.other_answers):
            return topic.title
    return None
