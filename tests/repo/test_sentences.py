"""Every sentence of a docstring but its first line has a verb.

A first line may be a noun phrase, as in "The rows of a batch.": it names the thing under it, and
"This is …" in front would add nothing. A later sentence states a fact about the thing, and the
reader needs its verb: of "NULL without an event." nobody knows which value is NULL. An entry
"label: description" is no sentence.

No library knows the language here. A word counts as a verb if it is an auxiliary, if it follows a
pronoun at the beginning of a clause somewhere in the docs or docstrings, with or without an ending
"s", or if it is listed below. So the rule finds a sentence without any such word. It passes one
of two words, and one with a noun that is a verb elsewhere, such as "match" or "run". It does not
look at code, lists, examples and drawings.
"""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.repo.source import ROOT, Module, example, modules
from tests.repo.test_words import docstrings

AUXILIARIES = {
    *re.findall(
        r"\w+",
        "am are can cannot could did do does had has have is may must should was were will would",
    )
}
# A pronoun at the beginning of a clause, and the word behind it.
SUBJECT = re.compile(
    r"(?:^|[.,;:(]\s|\b(?:and|as|because|but|if|since|so|that|until|when|where|whether)\s)"
    r"(?:it|they)\s(?:(?:also|always|never|not|only|then)\s)?([a-z]+)\b",
    re.IGNORECASE,
)
WHICH = re.compile(r",\swhich\s(?:(?:also|always|never|not|only|then)\s)?([a-z]+)\b")
# Words that follow such a pronoun and are no verbs, or mostly nouns.
OTHERS = {
    *re.findall(
        r"\w+",
        "a active all already an and another as at by chain chains construction each element"
        " elements event events every first for from i if in it its itself kernel kernels last"
        " later most mostly no nor nothing of on one only or other others own program query"
        " record slot so statement than the these they this time to too type types value values we"
        " world worlds",
    )
}
# Verbs that follow no such pronoun anywhere.
VERBS = re.findall(
    r"\w+",
    "add buffer compute consider convert cover define enable include infer limit map measure pack"
    " pass process propagate provide prune separate serve span test vanish",
)
CODE = re.compile(r"`[^`]*`|\bhttps?:\S+")
# A line that is no prose: of a list, a doctest or a drawing.
SHOWN = re.compile(r"\s*(?:[-|*:]|>>>|\d+\.)\s|\s*[│└├─]")
LABEL = re.compile(r"[^:]{1,40}:\s")
END = re.compile(r"(?<!al)(?<!\be\.g)\.\s+(?=[A-Z`\"(])|\.$")


def forms(verb: str) -> set[str]:
    """The forms of a verb with and without the ending "s"."""
    if verb.endswith("ies"):
        return {verb, f"{verb[:-3]}y"}
    if verb.endswith(("ches", "shes", "sses", "xes", "goes", "does")):
        return {verb, verb[:-2]}
    if verb.endswith("s") and not verb.endswith("ss"):
        return {verb, verb[:-1]}
    if re.search(r"[^aeou]y$", verb):
        return {verb, f"{verb[:-1]}ies"}
    return {verb, f"{verb}es" if verb.endswith(("ch", "sh", "ss", "x")) else f"{verb}s"}


@cache
def verbs() -> frozenset[str]:
    """The auxiliaries and the words that occur as verbs."""
    texts = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md"))]
    texts += [text for each in modules() for _, text in docstrings(each)]
    flat = [" ".join(CODE.sub("", text).split()) for text in texts]
    found = [word for text in flat for each in (SUBJECT, WHICH) for word in each.findall(text)]
    words = {word.lower() for word in found}
    every = {form for word in {*words, *VERBS} for form in forms(word)}
    return frozenset((every | AUXILIARIES) - OTHERS)


def later_sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring after its first one, without code, by paragraphs of prose."""
    indents = [len(line) - len(line.lstrip()) for line in text.splitlines()[1:] if line.strip()]
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.rstrip())):
        lines = paragraph.splitlines()
        inside = lines[1:] if number == 0 else lines
        shown = any(len(line) - len(line.lstrip()) > min(indents) for line in inside)
        if shown or any(map(SHOWN.match, lines)):
            continue
        prose = CODE.sub("`", " ".join(line.strip() for line in lines))
        sentences = [each.strip() for each in END.split(prose)]
        # The text behind the last full stop is empty, or no sentence.
        yield from sentences[not number : -1]


def without_verb(module: Module) -> list[str]:
    """The sentences of docstrings without a verb, with their places."""
    return [
        f"{module.path}:{line}: {sentence}"
        for line, text in docstrings(module)
        for sentence in later_sentences(text)
        if not LABEL.match(sentence)
        and len(words := re.findall(r"[a-z]{2,}", sentence.lower())) > 2
        and not verbs() & {*words}
    ]


def test_later_sentences_have_a_verb() -> None:
    assert [sentence for module in modules() for sentence in without_verb(module)] == []


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("The rows of a batch.", []),
        ("The rows of a batch. NULL without an event.", ["NULL without an event"]),
        ("Rows.\n\nThe first of all rows.\nIt is NULL.", ["The first of all rows"]),
        (
            "Rows.\n\n`x` as in all of `y`. Each `z` has rows; others of batches.",
            ["` as in all of `"],
        ),
        ("Rows.\n\n    a  b\n    of the rows.\n\n- of the rows.\n", []),
        ("Rows. Limits of the memory are checked.", []),
    ],
)
def test_a_sentence_without_a_verb_is_found(docstring: str, found: list[str]) -> None:
    module = example(f'"""{docstring}"""')
    assert without_verb(module) == [f"sase.example.py:1: {each}" for each in found]
