"""What may be answered: general answers that many types of questions share, and patterns with words of a content.

Answers of a content are paraphrases of one another, in the order of their popularity. They are templates still: the
slots `{k}`, `{ks}`, `{he}`, `{his}` are those of `question_type`.
"""

from collections.abc import Mapping

Answers = dict[str, tuple[str, ...]]  # content -> its paraphrases


def split(text: str) -> tuple[str, ...]:
    """The parts of a text between bars."""
    return tuple(part.strip() for part in text.split("|"))


UNCLEAR = split(
    "can't tell | i can't tell | not sure | cannot tell | hard to tell | i cannot tell | i'm not sure | can't see"
    "| it's hard to say | i don't know | i can't see | unable to tell"
)
# `{aff}` and `{neg}` stand for a type's own short forms, such as `it is` and `it is not`.
YES = split(
    "yes | yes {aff} | i think so | yes, {aff} | looks like it | yep | {aff} | yes i think so | it looks like it"
    "| i believe so | yeah | sure | definitely | of course | it seems so | yes, definitely"
)
NO = split(
    "no | not that i can see | nope | no {neg} | not really | i don't think so | no, {neg} | {neg} | not at all"
    "| doesn't look like it | no, not really | no i don't think so | definitely not | it doesn't seem so"
)
_BEFORE_SPECIFIC = 4  # so many general answers are more popular than those of the type itself

# Patterns by what is asked: `{v}` is a word of the content.
COLOR = split(
    "{v} | it is {v} | it's {v} | the {k} is {v} | {v} i think | looks {v} | mostly {v} | a {v} {k} | all {v}"
    "| it looks {v} | i think it's {v} | i would say {v}"
)
SIZE = split(
    "{v} | it is {v} | pretty {v} | it's {v} | {v} i think | quite {v} | looks {v} | it looks {v} | a {v} {k}"
    "| the {k} is {v} | fairly {v}"
)
COUNT = split(
    "{v} | i see {v} | just {v} | i can see {v} | {v} that i can see | looks like {v} | {v} total | only {v}"
    "| i think {v} | maybe {v}"
)
MANY = split(
    "many | a lot | too many to count | lots | several | quite a few | there are many | i see a lot | a bunch"
    "| about 10 | more than 5"
)
NUMBERS = {"1": ("1", "one"), "2": ("2", "two"), "3": ("3", "three"), "4": ("4", "four")}
GUESS = split(
    "{v} | i would say {v} | {v} i think | probably {v} | i think {v} | looks like {v} | it looks like {v} | {v} maybe"
)
WEARING = split(
    "{v} | {he} is wearing {v} | wearing {v} | {he} has {v} on | {v} i think | it looks like {v} | just {v}"
)
DOING = split(
    "{v} | {he} is {v} | just {v} | {v} i think | looks like {he} is {v} | {v} there | the {k} is {v}"
    "| i think {he} is {v} | {he} seems to be {v}"
)
HAIR = split(
    "{v} | {his} hair is {v} | it is {v} | {v} hair | it's {v} | {he} has {v} hair | looks {v} | {v} i think"
    "| it looks {v} | mostly {v}"
)
SHIRT = split(
    "{v} | it is {v} | {his} shirt is {v} | a {v} shirt | it's {v} | {v} i think | looks {v} | mostly {v}| it looks {v}"
)
MADE = split(
    "{v} | it is {v} | made of {v} | it's {v} | looks like {v} | {v} i think | it looks like {v} | a {v} {k}"
    "| the {k} is {v} | probably {v}"
)
WHERE = split("{v} | it is {v} | it's {v} | {v} i think | the {k} is {v} | looks like {v} | right {v}")
SOMEWHERE = split(
    "{v} | it is {v} | {v} i think | it's {v} | looks like {v} | i think {v} | it looks like {v} | probably {v}"
)
WEATHER = split(
    "{v} | it is {v} | it's {v} | looks {v} | it looks {v} | {v} i think | {v} day | a {v} day | i think it's {v}"
)

_SPELT = {"gray": ("gray", "grey"), "tan": ("tan", "beige"), "blonde": ("blonde", "blond")}


def words(*contents: str) -> Mapping[str, tuple[str, ...]]:
    """Contents that are their own words, with other spellings."""
    return {content: _SPELT.get(content, (content,)) for content in contents}


def yes_no(affirmative: str, negative: str, yes: str, no: str, *, unclear: bool = False) -> Answers:
    """Answers of a type with the contents `yes` and `no`, and `unclear` where the image may not tell.

    Args:
      affirmative: short form of the type for `{aff}`.
      negative: that for `{neg}`.
      yes: answers of this type alone, between bars.
      no: the same for the other content.
      unclear: whether there is a third content.
    """

    def merged(general: tuple[str, ...], specific: str) -> tuple[str, ...]:
        forms = [text.replace("{aff}", affirmative).replace("{neg}", negative) for text in general]
        return (*forms[:_BEFORE_SPECIFIC], *split(specific), *forms[_BEFORE_SPECIFIC:])

    return {"yes": merged(YES, yes), "no": merged(NO, no)} | ({"unclear": UNCLEAR} if unclear else {})


def spoken(patterns: tuple[str, ...], contents: Mapping[str, tuple[str, ...]]) -> Answers:
    """Answers of contents with words of their own: the first word in all patterns, others in the first two."""
    found = {}
    for content, (first, *others) in contents.items():
        more = [pattern.replace("{v}", word) for word in others for pattern in patterns[:2]]
        head, *rest = (pattern.replace("{v}", first) for pattern in patterns)
        found[content] = (head, *more, *rest)
    return found
