"""Common words: people's names that are words too, such as Kind, Grund or An (KZ-43).

Were these hidden wherever they stand, hardly a sentence could be read, and the sentence around each
placeholder would tell the name. So they are hidden where they stand as a name.
"""

from __future__ import annotations

import re

from .._patterns import lazy_pattern

_NOUNS = """
abend acker akte alt alter amt amtmann anfang angst antrag anwalt apfel arbeit arm art axt bach
bank bart bauer baum becher beginn bein berg besser best bett beutel bier bild birne bischof blatt
blau blei blitz blut braun braut brief brot bruder brunnen buch burg busch christ dach datum dienst
diener ding donner dorf ehre eisen ende engel erbe erben ernst faden fall feind feld fenster ferien
feuer finger fluss form frei freitag freude freund fried frieden frist frost frueh fuchs fuerst
garten geld gericht gerste glas glueck gold gott graf gross grund gruen gulden gut haar hafer hagel
hahn hals hammer hand hase haupt haus heide held heller herbst herr herz herzog hilfe himmel hof
holz hut insel jahr januar juli jung kaiser kasten kaufmann kauf keil kessel kette kind klage
klaeger klein klug knecht knopf koenig kohl kopf korb korn kosten kraft kraut krieg krug kuehn
kupfer kurz lage land lang lange last leder leib leid liebe lohn lust macht mai mann mantel mark
markt mass mauer maerz meer meister mensch messer miete moench mond montag moor morgen mund mut
mutter nachbar nacht nadel nagel name nase nebel neu norm note nummer nuss ofen onkel ort paar papst
pause person pfeffer pfennig platz posten preis probst punkt rat recht regen reich rest richter ring
ritter rock rosa rose rot sache sack saege salz samstag sand satz sauer schloss schluessel schnee
schoeffe schoen schrank schreiber schuh schule schwarz schwester see seide silber sohn sommer sonne
sonntag sorge spaet stadt stahl stand stark stein stern still streit strich stuhl stueck sturm
stunde suess tag tat teil teller termin text teufel tisch titel ton topf tor treu tuch tuer turm
ufer uhr urlaub vater verein vetter vogel vogt wagen waise wald wand weg wein weise weiss weizen
welt wert wetter wiese wild wind winter witwe woche wolf wort wunder zahl zahn zeit zeuge zoll zorn
zucker
agent answer area ask baker bell black board book box brown cause code command content cook cost
court cursor data date day depth desk document draft edit end event extensions field fields file
find folder form free green hunter id image index items key kind king label law level limit line
lines link list long lookup make man mark max memory message min minutes mode model muster new next
number offset old order own page pages part path pattern pay place plan positions post price query
question read reason replace result rich root row rules run search seed shell short side since size
skill small source start state status step table tail task title tool type until url use value
version web white wise word write year young
about add after akten alert alle apply back background billable business case channel check child
children choices citation clients column compute context count create debt delegate delete detail
dokument dokumente dollars done due edits fetch files first fristen gesetze get give glob ignore
inbox input insert job length literal most move multiline named network notes notiz outline patch
paths pending pkh posted pronounced questions rag range rate recall remember replaces risk rn
sachgebiet schema seconds several show stop str strangers symbol take tell terminal time undo update
urteile view wait why zeiterfassung zitate
"""
NOUNS = frozenset(_NOUNS.split())
"""Hidden with a capital letter, unless an article or an adjective before it says that it is a
word."""
_PARTICLES = """
ab all am an ans auf aus bei bin bis da dem den der des die do du ein er es im in ist ja je la le
man mit na nie no nur ob ohne on or so to um und uns vom von vor wann war was wer wie will wir wo zu
zum zur
"""
PARTICLES = frozenset(_PARTICLES.split())
"""Hidden beside another name or a title alone."""
_CALLED = lazy_pattern(
    r"(?:\b(?:Herrn?|Frau|Fr\.|Hr\.|Dr\.|Prof\.|Fam(?:\.|ilie)|Eheleuten?|Mandant(?:in)?|"
    r"Kläger(?:in)?|Beklagte[rn]?|Zeug(?:en?|in)|Gegner(?:in)?|Rechtsanw(?:alt|ältin)|RA(?:in)?|"
    r"geb(?:\.|orene[rn]?)|gegen|gg\.)|\./\.)[\s.,:=_-]*$",
    re.I,
)
_DETERMINED = lazy_pattern(
    r"\b(?:(?i:d(?:er|ie|as|en|em|es)|(?:k?ein|mein|dein|sein|ihr|unser|eur|welch|dies|jed|manch|"
    r"solch|all|viel|beid)(?:e[rsmn]?)?|zwei|drei|im|am|zum|zur|vom|beim|ins|ans|auf|aus|ohne|pro|"
    r"the|a|this)(?:\s+[a-zäöüß]{2,}e[rsmn]?)?|[a-zäöüß]{3,}e[ms])\s+$"
)
_BEFORE = 60


def is_name_here(word: str, text: str, begin: int) -> bool:
    """Whether a common word that begins there in a text is a name there."""
    before = text[max(0, begin - _BEFORE) : begin]
    if _CALLED.search(before):
        return True
    return word in NOUNS and text[begin].isupper() and not is_determined(before)


def is_determined(before: str) -> bool:
    """Whether the words before a noun say that it is a word and no name: the, a, old."""
    return bool(_DETERMINED.search(before))
