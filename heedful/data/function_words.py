"""Words of grammar, number and time that have no synonym to put in their place: a closed list of our own."""

_DETERMINERS_AND_PRONOUNS = """
a an the this that these those some any no every each either neither both all half such what which whatever whichever
whose another other others same own several i me my mine myself you your yours yourself yourselves he him his himself
she her hers herself it its itself we us our ours ourselves they them their theirs themselves one ones oneself who whom
whoever someone somebody something anyone anybody anything everyone everybody everything nobody none nothing
"""
_AUXILIARIES = """
am is are was were be been being have has had having do does did doing done can could may might must shall should will
would ought need dare let ca wo don didn doesn isn wasn aren weren won shouldn couldn wouldn hasn haven hadn ain
"""
_PREPOSITIONS_AND_CONJUNCTIONS = """
and or but nor so yet for if unless although though because since while whereas whether than as once until till lest
about above across after against along amid among around at before behind below beneath beside besides between beyond by
despite down during except from in inside into like near of off on onto out outside over past per through throughout to
toward towards under underneath unlike up upon via with within without
"""
_ADVERBS = """
not never ever also too very much many more most few less least little lot enough just only even still then there here
now again always where when why how however thus hence therefore rather quite else instead well back away far
"""
_COMPARISON_NUMBER_AND_TIME = """
better best worse worst zero two three four five six seven eight nine ten hundred thousand million billion first second
third last next seconds minute minutes hour hours day days week weeks month months year years time times
"""

FUNCTION_WORDS = frozenset(
    " ".join(
        (
            _DETERMINERS_AND_PRONOUNS,
            _AUXILIARIES,
            _PREPOSITIONS_AND_CONJUNCTIONS,
            _ADVERBS,
            _COMPARISON_NUMBER_AND_TIME,
        )
    ).split()
)
"""WordNet has some of these as nouns (`a`: ampere, `in`: inch) and knows nothing of their grammar."""
