"""Words of texts that may say what the texts are about.

Words such as "the", "und" or "pour" hold sentences together and say nothing by themselves. Which
languages a column is written in is found out by how many of its words they are; those of other
languages stay, so that the English "die" is a word like others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import IntArray

MAX_WORDS = 300
FEWEST_TEXTS = 5  # that a compared word occurs in
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")

#: Least share of the words of a language among those that no other language of the column has.
_LEAST_SHARE = 0.08
#: A language has at least so many of them: single ones are words of another language, too.
_LEAST_DIFFERENT = 4

#: Articles, pronouns, prepositions, conjunctions and auxiliary verbs by language.
_FUNCTION_WORDS = {
    "English": """a about above after again against all also although am among an and another any
        are aren't as at be because been before being below between both but by can can't cannot
        could couldn't did didn't do does doesn't doing don't down during each either else etc
        every few for from further had hadn't has hasn't have haven't having he he's her here hers
        herself him himself his how however i i'd i'll i'm i've if in into is isn't it it's its
        itself just let's me more most much must my myself neither no nor not of off on once only
        onto or other our ours ourselves out over own per rather same shall she she's should
        shouldn't since so some such than that that's the their theirs them themselves then there
        there's therefore these they they're they've this those though through thus to too toward
        towards under until up upon very via was wasn't we we're we've were weren't what what's
        when where whether which while who whom whose why will with within without won't would
        wouldn't yet you you'll you're you've your yours yourself yourselves""",
    "German": """aber alle allem allen aller alles als also am an ander andere anderen auch auf aus
        bei beim bin bis bist da dabei dadurch dafür damit dann daran darauf darum das dass davon
        dazu dein deine dem den denn der deren des dessen dich die dies diese diesem diesen dieser
        dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für
        gegen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
        im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner können
        man mein meine meinem meinen meiner mich mir mit muss nach nicht noch nun nur ob oder ohne
        sehr sein seine seinem seinen seiner seit sich sie sind so soll sollte sondern über um und
        uns unser unsere unter vom von vor war waren was weil welche wenn wer werden wie wieder
        wir wird wo wurde wurden zu zum zur zwischen""",
    "French": """ai ainsi alors après as au aucun aussi autre aux avait avant avec avez avoir avons
        c'est car ce ceci cela celle celui ces cet cette ceux chaque chez comme d'un d'une dans de
        depuis des donc dont du elle elles en encore entre es est et étaient était être eu eux fait
        il ils j'ai je l'on la le les leur leurs lors lui ma mais me même mes moi moins mon n'est
        ne ni nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu'il
        qu'elle qu'on quand que quel quelle qui quoi sa sans se ses si sommes son sont sous sur ta
        te tes toi ton tous tout toute toutes très trop tu un une vos votre vous""",
    "Spanish": """al algo algunos ante antes aquel aquella así aunque cada como con contra cual
        cuando de del desde donde dos durante el él ella ellas ellos en entre era eran es esa ese
        eso esta está estaba están estar estas este esto estos fue ha había han hasta hay la las
        le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco
        por porque que qué quien se sea ser si sí sin sobre son su sus también tan tanto te tiene
        todo todos tu tus un una uno unos usted y ya yo""",
    "Italian": """agli ai al alla alle allo anche avere aveva c'è che chi ci coi col come con contro
        cui da dagli dai dal dalla dalle degli dei del della delle dello di dopo dove e è
        era erano essere fra già gli ha hanno ho i il in io l'ho la le lei li lo loro lui ma mi mia
        mie miei mio molto ne negli nei nel nella nelle no noi non nostra nostro o ogni per perché
        più poi può quale quando quella quelli quello questa queste questi questo qui se sei senza
        si sia sì siamo sono sopra sta stata stato su sua sue sugli sui sul sulla suo suoi tra tu
        tutti tutto un una uno vi voi""",
    "Dutch": """aan achter al alle alles als altijd bij ben dan dat de der deze die dit doch doen
        door dus een en er ge geen had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je
        jou jullie kan kon maar me men met mij mijn moet na naar niet nog nu of om omdat ons ook op
        over te tegen toch toen tot u uit uw van veel voor want waren was wat we wel werd wezen wie
        wij wil worden zal ze zelf zich zij zijn zo zonder zou""",
    "Portuguese": """à ao aos aquela aquele as às até com como da das de dela dele depois do dos e
        é ela elas ele eles em entre era essa esse esta está estava este eu foi foram há isso isto
        já lhe mais mas me mesmo meu meus minha muito na não nas nem no nos nossa nosso num numa o
        os ou para pela pelas pelo pelos por porque quando que quem se sem ser seu seus só sua suas
        também te tem têm ter tinha tu tua um uma você vocês vos""",
}
#: What is left of addresses and markup.
_MARKUP = frozenset(
    {"http", "https", "www", "com", "org", "html", "href", "br", "nbsp", "amp", "quot"}
)
_BY_LANGUAGE = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}


def words_of(text: str) -> set[str]:
    """Words of a text, in lower case.

    Examples
    --------
    >>> from sidelight.explanation._words import words_of
    >>> sorted(words_of("Refund, please: order 17 isn't here"))
    ['here', "isn't", 'order', 'please', 'refund']
    """
    return {word for word in _WORD.findall(text.lower()) if len(word) > 1}


@dataclass(frozen=True)
class TextWords:
    """Words of some texts.

    Attributes
    ----------
    vocabulary : tuple of str
        The most frequent words that have a meaning of their own, by how many texts they occur in,
        without those of all texts.
    texts, words : ndarray
        Position of a text and of a word of the vocabulary in it, for all occurrences.
    """

    vocabulary: tuple[str, ...]
    texts: IntArray
    words: IntArray


def find_words(texts: Any, most: int = MAX_WORDS) -> TextWords:
    """Find words that may distinguish texts, chosen without regard to the clusters."""
    found = [words_of(text) for text in texts]
    counts: Counter[str] = Counter()
    for words in found:
        counts.update(words)
    empty = function_words(counts)
    frequent = [
        (n, word)
        for word, n in counts.items()
        if FEWEST_TEXTS <= n < len(found) and word.replace("’", "'") not in empty
    ]
    vocabulary = [word for _, word in sorted(frequent, key=lambda one: (-one[0], one[1]))[:most]]
    position = {word: number for number, word in enumerate(vocabulary)}
    pairs = [
        (text, position[word])
        for text, words in enumerate(found)
        for word in words
        if word in position
    ]
    occurrences = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return TextWords(tuple(vocabulary), occurrences[:, 0], occurrences[:, 1])


def function_words(counts: Counter[str]) -> frozenset[str]:
    """Words without a meaning of their own, of the languages that texts are written in.

    Parameters
    ----------
    counts : Counter of str
        In how many texts every word occurs.

    Examples
    --------
    >>> from collections import Counter
    >>> from sidelight.explanation._words import function_words
    >>> found = function_words(Counter("the war on the hat was not for him".split()))
    >>> "the" in found, "war" in found, "und" in found
    (True, False, False)
    """
    found, languages, total = _MARKUP, dict(_BY_LANGUAGE), counts.total()
    while languages and total:
        sums = {
            name: sum(counts[word] for word in words - found) for name, words in languages.items()
        }
        best = max(sums, key=lambda name: sums[name])
        n_different = sum(counts[word] > 0 for word in languages[best] - found)
        if sums[best] < _LEAST_SHARE * total or n_different < _LEAST_DIFFERENT:
            break
        found |= languages.pop(best)
        total -= sums[best]
    return found
