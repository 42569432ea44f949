"""Languages: their codes, their most frequent words, and which language a text is written in."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from labelwood.errors import ParamError, unknown_name
from labelwood.params import Range

# ISO 639-1 code -> (the name, which is also that of the Snowball stemmer; frequent words that say little).
# The words serve two ends: they tell languages apart, and they are the lists of `stop_words="fi"`.
_FREQUENT = {
    "en": "english: the of and to a in is that for it as was with be by on not he his at from are this have or but an "
    "they which you were all her she there would their we him been has when who will more no if out so what up said "
    "its about than into them can only other new some could these two may then do any my now such our your how i",
    "de": "german: der die das und in zu den ist von mit auf für ein eine einer eines einem einen im dem des nicht "
    "sich auch es an werden aus er hat dass daß sie nach wird bei um am sind noch wie über so zum zur war haben nur "
    "oder aber vor bis mehr durch man sein wurde ich wir ihr unter gegen vom kann schon wenn als beim ihre seine diese",
    "fi": "finnish: ja on ei se että oli hän ovat mutta tai kun myös sen joka kuin ole niin mitä mikä jos jotka sekä "
    "hänen tämä tämän siitä sitä minä sinä he ne vain kanssa jo mukaan olla olivat joita vielä jonka ettei eivät voi "
    "kuinka miten vai eli sekä ilman kautta välillä suomen suomessa opas uusi vuoden jälkeen tutkimus oma osa",
    "sv": "swedish: och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så "
    "kan när år under också efter eller nu sin där vid mot ska skulle kommer ut får finns vara hade alla andra mycket "
    "än här då sedan över bara in blir upp även vad få två vill ha många hur mer utan inom samt deras våra",
    "no": "norwegian: og i det som en på er av for med til den har de ikke om et han men var jeg seg fra vi så kan når "
    "år under også etter eller nå sin der ved mot skal ville kommer ut får finnes være hadde alle andre mye enn her da "
    "hun etter over bare opp blir hva noe to vil ha mange hvordan mer uten samt deres våre",
    "da": "danish: og i det som en på er af for med til den har de ikke om et han men var jeg sig fra vi så kan når år "
    "under også efter eller nu sin der ved mod skal ville kommer ud får findes være havde alle andre meget end her da "
    "hun over kun op bliver hvad noget to vil have mange hvordan mere uden samt deres vores",
    "nl": "dutch: de het een en van in is dat op te zijn met voor niet die er aan om als ook hij bij maar dan ze uit "
    "door over nog naar was tot werd kan worden deze wordt heeft hebben wel geen haar mijn ik je zij wij meer tussen "
    "moet zo hun tegen onder omdat toen waar wat dit onze hoe",
    "fr": "french: le la les de des et en un une du que qui dans est pour par sur pas au aux plus ne se ce il elle "
    "sont avec son sa ses ou mais comme nous vous ils cette ces leur leurs été être fait entre sans sous même tout "
    "aussi dont où très je on lui peut deux après à",
    "es": "spanish: el la los las de y en que a un una del se por con para no es al lo como más pero sus su le ya o "
    "este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno "
    "les ni contra otros ese eso ante ellos son fue era",
    "pt": "portuguese: o a os as de e em que do da dos das um uma no na nos nas se por com para não é ao como mais mas "
    "seu sua seus suas foi ou ser quando muito há já está eu também só pelo pela até isso ela entre era depois sem "
    "mesmo aos ter são você foram essa num nem",
    "it": "italian: il lo la gli le di e in che un una del della dei delle si per con non è al alla come più ma anche "
    "suo sua sono da dal dalla nel nella ha ho questo questa quando molto se io mi ci tra fra su sul sulla loro essere "
    "stato era ed i o",
    "ca": "catalan: el la els les de i en que un una del dels per amb no és al com més però seva seu aquest aquesta "
    "també entre són ha han va ser o si hi es pel pels sobre quan molt fins des tot",
    "ro": "romanian: și în de la a cu pe nu că este un o din pentru care mai sau se al ai ale lui fi dar ca prin sunt "
    "au fost după ce între această acest iar fără doar despre",
    "pl": "polish: i w na z do nie się że jest o jak to po co od za dla przez ale czy oraz tym jego są był była być "
    "może już tylko przy który która które jej ich ze pod nad",
    "cs": "czech: a v se na je že o s z do i to k ve pro za by ale jsou po jako při od není až nebo jsem jen byl byla "
    "která který které podle tak také jeho",
    "hu": "hungarian: a az és hogy nem is egy van meg csak de ez már azt mint vagy volt még ha után ki lehet el minden "
    "nagyon között pedig amely aki ami majd szerint alatt",
    "et": "estonian: ja on ei et ta oli see kui oma aga mis ka või ning nii kes siis nende välja mida veel pärast "
    "juba kas mitte pole ma sa me te nad selle tema olid",
    "lt": "lithuanian: ir yra kad į su iš ne bet tai kaip buvo jis ji apie po per nuo už dėl ar tik dar jau jo jos kai "
    "savo taip prie iki pagal",
    "tr": "turkish: ve bir bu da de için ile çok olarak daha ne gibi olan kadar sonra var o ama en ya ki mi değil her "
    "ben sen biz siz üzerinde arasında olduğu veya",
    "id": "indonesian: yang dan di ke dari untuk dengan pada ini itu tidak dalam adalah akan oleh sebagai juga atau "
    "karena bagi ada telah dapat lebih tersebut bahwa saya kami mereka",
    "ru": "russian: и в не на я что он с как это по но из у за к от так для же все или бы если его она они мы вы был "
    "была было были при о до только уже также между который которые",
    "el": "greek: και το της η να του τα με για την οι από που στο στη στην είναι των δεν σε τον τη ο τις τους θα στα "
    "μια ένα ή αλλά όπως",
    "ar": "arabic: في من على إلى أن عن مع هذا هذه التي الذي كان كانت لا ما هو هي أو بين كل قد لم ثم بعد قبل عند",
    "hi": "hindi: के का की है में और से को पर यह कि एक नहीं हैं ने भी या वह इस जो हो था थी लिए अपने तो",
}
# Stemmed, but not detected: no list of frequent words here.
_OTHERS = {
    "hy": "armenian", "eu": "basque", "eo": "esperanto", "ga": "irish", "ne": "nepali", "fa": "persian",
    "sr": "serbian", "ta": "tamil", "yi": "yiddish",
}  # fmt: skip
NAMES = {code: text.partition(":")[0] for code, text in _FREQUENT.items()} | _OTHERS
# A letter is a syllable or a word here, and no spaces stand between words or, in Korean, before what is added to them;
# or, as in Hindi, the vowel signs are no letters, so that they would cut words into pieces.
SYLLABIC = {
    "bn": "bengali", "gu": "gujarati", "hi": "hindi", "ja": "japanese", "km": "khmer", "kn": "kannada", "ko": "korean",
    "lo": "lao", "ml": "malayalam", "mr": "marathi", "my": "burmese", "ne": "nepali", "pa": "punjabi", "si": "sinhala",
    "ta": "tamil", "te": "telugu", "th": "thai", "zh": "chinese",
}  # fmt: skip
_SYLLABLES = re.compile(
    "[\u0900-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
AUTO = "auto"
# A second language must be that of so many of the texts to count as one of the data's languages.
SMALLEST_SHARE = 0.1
LOOKED_AT = 5_000
# The script shows in a few hundred openings of texts, which take milliseconds to look at.
OPENINGS, OPENING_CHARACTERS = 1_000, 1_000
_WORD = re.compile(r"\w+")
_UNSEEN = -8.0  # the logarithm of how often a pair of letters comes that the frequent words of a language lack


class Language(Range):
    """One language code, several joined by "+", "auto", or None."""

    def __init__(self) -> None:
        super().__init__(str, optional=True)

    def __str__(self) -> str:
        return f'None, "auto", or codes such as "fi" or "fi+sv" ({", ".join(sorted(NAMES))})'

    def accepts(self, value: Any) -> bool:
        """True for None, "auto", and known codes."""
        if value is None or value == AUTO:
            return True
        return isinstance(value, str) and all(code in NAMES for code in value.split("+"))


def checked_codes(given: str, owner: str) -> tuple[str, ...]:
    """The codes of "fi" or "fi+sv", each once; ParamError names the nearest known code."""
    codes = tuple(dict.fromkeys(given.split("+")))
    names = NAMES | SYLLABIC
    for code in codes:
        if code not in names:
            called = next((known for known, name in names.items() if name.lower() == code.strip().lower()), None)
            if called is not None:
                raise ParamError(f"{owner}: languages are named by their codes: {called!r} for {code!r}")
            raise ParamError(f"{owner}: {unknown_name('language', code, names)}")
    return codes


def language_name(code: str) -> str:
    """The English name of a language: 'Finnish'."""
    return (NAMES | SYLLABIC)[code].capitalize()


def in_syllables(texts: Sequence[str]) -> bool:
    """Whether most texts are in a script such as Japanese, Korean or Thai, where spaces do not tell words apart.

    A text is if it has as many such letters as other words. Looks at the openings of no more than 1,000 texts, spread
    over all of them; texts without a letter have no say.
    """
    yes = no = 0
    for text in texts[:: max(1, len(texts) // OPENINGS)]:
        others, letters = _SYLLABLES.subn(" ", text[:OPENING_CHARACTERS])
        words = sum(not word.isdigit() for word in _WORD.findall(others))
        yes += letters > 0 and letters >= words
        no += words > letters
    return yes > no


def stop_words(code: str) -> list[str]:
    """The most frequent words of a language, which say little about a text; ParamError where there is no list."""
    if code not in _FREQUENT:
        raise ParamError(f"there is no list of stop words for {code!r}; known: {', '.join(sorted(_FREQUENT))}")
    return _FREQUENT[code].partition(": ")[2].split()


def detect(text: str, among: Sequence[str] | None = None) -> str | None:
    """The language that a text is written in, by its frequent words; None where it has none.

    A word counts one part of n if n languages have it; where that is a tie, pairs of letters decide. among: the only
    codes to choose from.
    """
    votes = _votes(text, among)
    if not votes:
        return None
    most = max(votes.values())
    tied = [code for code, n in votes.items() if n == most]
    if len(tied) == 1:
        return tied[0]
    profiles = _letter_profiles()
    pairs = _letter_pairs(text.lower())
    return max(tied, key=lambda code: (sum(profiles[code].get(pair, _UNSEEN) for pair in pairs), code))


def language_shares(text: str, among: Sequence[str]) -> list[tuple[str | None, float]]:
    """(language, its share of the votes) of all that may be, the largest first; None has the share 1 if nothing shows.

    ParamError names a language that cannot be told from others.
    """
    for code in among:
        if code not in _FREQUENT:
            raise ParamError(unknown_name("language", code, _FREQUENT))
    votes = _votes(text, None)
    total = sum(votes.values())
    shares: list[tuple[str | None, float]] = [
        (code, votes.get(code, 0.0) / total if total else 0.0) for code in dict.fromkeys(among)
    ]
    best = detect(text, among)  # pairs of letters decide between equal shares
    rest = max(0.0, 1.0 - sum(share for _, share in shares))
    return sorted([*shares, (None, rest)], key=lambda entry: (-entry[1], entry[0] != best, entry[0] or "~"))


def _votes(text: str, among: Sequence[str] | None) -> dict[str, float]:
    """Code -> the parts of the text's frequent words that speak for it."""
    votes: dict[str, float] = {}
    table = _languages_of_words()
    for word in _WORD.findall(text.lower()):
        codes = table.get(word, ())
        for code in codes:
            if among is None or code in among:
                votes[code] = votes.get(code, 0.0) + 1 / len(codes)
    return votes


def languages_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The languages that at least a tenth of the texts are written in, the most frequent first; () if none shows.

    Looks at no more than 5,000 texts, spread over all of them. Texts without a frequent word have no say.
    """
    step = max(1, len(texts) // LOOKED_AT)
    votes = Counter(code for code in map(detect, texts[::step]) if code is not None)
    total = sum(votes.values())
    return tuple(code for code, n in votes.most_common() if n >= SMALLEST_SHARE * total)


def language_of_each(texts: Iterable[str], among: Sequence[str]) -> list[int]:
    """For each text the place of its language in `among`; 0 where nothing shows."""
    codes = (detect(text, among) for text in texts)
    return [0 if code is None else among.index(code) for code in codes]


@cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for code in _FREQUENT:
        for word in dict.fromkeys(stop_words(code)):
            table.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in table.items()}


def _letter_pairs(text: str) -> list[str]:
    padded = [f" {word} " for word in _WORD.findall(text)]
    return [word[place : place + 2] for word in padded for place in range(len(word) - 1)]


@cache
def _letter_profiles() -> dict[str, dict[str, float]]:
    """Code -> the logarithm of how often each pair of letters comes in the frequent words of that language."""
    profiles = {}
    for code in _FREQUENT:
        counts = Counter(_letter_pairs(" ".join(stop_words(code))))
        total = sum(counts.values())
        profiles[code] = {pair: math.log(n / total) for pair, n in counts.items()}
    return profiles
