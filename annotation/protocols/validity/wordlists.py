"""English words that the lint searches for, in lower case and in all relevant forms."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MENTAL_STATE_WORDS = _words("""
    believe believes believed believing think thinks thought thinking know knows knew known knowing
    realize realizes realized realizing realise realises realised realising discover discovers discovered
    discovering suspect suspects suspected suspecting assume assumes assumed assuming understand
    understands understood understanding remember remembers remembered remembering recognize recognizes
    recognized recognizing recognise recognises recognised recognising wonder wonders wondered wondering
    aware unaware oblivious unknowing unknowingly knowingly unsuspecting unsuspectingly
""")

PERCEPT_WORDS = _words("""
    see sees saw seen seeing notice notices noticed noticing observe observes observed observing spot
    spots spotted spotting hear hears heard hearing overhear overhears overheard overhearing smell smells
    smelled smelt smelling perceive perceives perceived perceiving glimpse glimpses glimpsed glimpsing
    unnoticed unseen
""")

GIVE_AWAY_WORDS = _words("""
    secret secrets secretly secretive hide hides hid hidden hiding conceal conceals concealed concealing
    covert covertly clandestine clandestinely actually unbeknownst undisclosed undetected disguised
    surreptitious surreptitiously stealthily
""")

GIVE_AWAY_PHRASES = (
    " in fact ",
    " in reality ",
    " in truth ",
    " unknown to ",
    " without anyone knowing ",
    " without telling ",
    " behind the back ",
)
"""With spaces on both sides, to search among words joined by spaces."""

NOUNS_TOO = _words("notice notices thought saw glimpse suspect suspects wonder understanding")
"""Forms that are nouns after a determiner: “a notice”, “the saw”, “his suspects”."""

NOUNS_MOSTLY = _words("spot spots smell smells hearing seeing")
"""Forms that are verbs only before a determiner or pronoun: “spots the hole”, not “cover spots on fruit”."""

ADJECTIVAL_KNOWN = _words("well also best widely locally")

DETERMINERS = _words("a an the this that these those his its their my your our some no one each any")

EMPTY_WORDS = DETERMINERS | _words("""
    i he she it they him them we us you to of in on at by for from with without into onto out up down off over
    about as and or but if not is are was were be been being do does did has have had will would can could may
    might should must there here then than so too very just also her hers theirs himself herself
    themselves itself who which what when where how while s t
""")
"""Words that say nothing about an action."""

PRONOUNS = {
    "he": "they",
    "she": "they",
    "him": "their",
    "his": "their",
    "her": "their",
    "hers": "their",
    "theirs": "their",
    "them": "their",
    "himself": "themselves",
    "herself": "themselves",
}
"""Unified pronouns, for stories that differ only in a person; “her” is two forms, so they become one."""

ABBREVIATIONS = _words("mr mrs ms dr prof st jr sr vs no inc ltd co corp dept approx etc fig vol")
