"""Questions about the image as a whole: what is in the background, how many people, light and weather, the place."""

from tfds_builders.visdial_sim import answers as said
from tfds_builders.visdial_sim import lexicon
from tfds_builders.visdial_sim.answers import split, spoken, words, yes_no
from tfds_builders.visdial_sim.question_type import Type

_SCENES = {
    "kitchen": ("a kitchen", "the kitchen", "kitchen"),
    "living room": ("a living room", "the living room", "living room"),
    "bedroom": ("a bedroom", "bedroom"),
    "bathroom": ("a bathroom", "bathroom"),
    "office": ("an office", "office"),
    "street": ("a street", "on the street", "street"),
    "park": ("a park", "in a park", "park"),
    "beach": ("a beach", "at the beach", "beach"),
    "field": ("a field", "in a field"),
    "parking lot": ("a parking lot", "parking lot"),
}


def _presence(thing: lexicon.Thing) -> Type:
    noun, phrase = thing.noun, thing.phrase
    if thing.plural:
        be = "there are"
        questions = f"are there any {noun} | do you see any {noun} | can you see any {noun} | are there {noun}"
    else:
        be = "there is"
        questions = f"is there {phrase} | do you see {phrase} | can you see {phrase} | is there {phrase} in the picture"
    yes = f"yes {be} {phrase} | i see {phrase} | yes i see {phrase} | {be} {phrase} | {phrase} in the back"
    no = f"no {noun} | {be} no {noun} | i don't see any {noun} | i don't see any | no {noun} that i can see"
    answers = yes_no(be, f"{be} not", yes, no)
    return Type("presence", "presence", f"background.{noun}", 0.46, f"{questions} | any {noun}", answers, subject=noun)


def _other_people() -> Type:
    questions = (
        "are there any other people | are there other people | do you see any other people | any other people"
        "| can you see other people"
    )
    yes = "yes there are others | yes, a few | i see others"
    no = (
        "no other people | no people | no one else | just the {k} | only the {k} | i don't see anyone else"
        "| i don't see any"
    )
    reading = {"1": "no"} | dict.fromkeys(("2", "3", "4", "many"), "yes")
    answers = yes_no("there are", "there are not", yes, no)
    return Type("other people", "presence", "people", 2.4, questions, answers, reading, role="person")


def _count_of_people() -> Type:
    questions = (
        "how many people are there | how many people | how many people do you see| how many people are in the picture"
    )
    one = split(
        "1 | just 1 | one | only 1 | 1 person | i see 1 | just 1 person | there is 1 person | just the 1"
        "| 1 that i can see"
    )
    none = split(
        "0 | none | no people | i don't see any people | there are no people | i see none | zero | nobody"
        "| i don't see anyone | no one"
    )
    several = {number: spelt for number, spelt in said.NUMBERS.items() if number != "1"}
    counted = spoken((*said.COUNT, "{v} people", "there are {v} people"), several)
    answers = {"0": none, "1": one} | counted | {"many": (*said.MANY, "many people", "lots of people")}
    return Type("count of people", "how many", "people", 1.8, questions, answers)


def _image() -> tuple[Type, ...]:
    in_color = yes_no(
        "it is",
        "it is not",
        "yes, in color | the picture is in color | full color | yes it's in color",
        "black and white | no, black and white | it is black and white",
    )
    sunny = yes_no(
        "it is",
        "it is not",
        "yes, very sunny | it is sunny | yes it's sunny",
        "no, cloudy | it is cloudy | no, not sunny",
        unclear=True,
    )
    skies = {"sunny": ("sunny", "clear"), "cloudy": ("cloudy", "overcast")} | words("rainy", "snowy")
    hours = {"day": ("day", "daytime"), "evening": ("evening", "late afternoon"), "night": ("night", "nighttime")}
    unclear = {"unclear": said.UNCLEAR}
    return (
        Type(
            "in color", "is", "in_color", 2.6,
            "is the picture in color | is the photo in color | is this in color | is the image in color"
            "| is it a color photo",
            in_color,
        ),
        Type(
            "weather", "how", "weather", 1.2,
            "how is the weather | what is the weather like | how does the weather look",
            spoken(said.WEATHER, skies) | unclear,
        ),
        Type(
            "sunny", "is", "weather", 2.4,
            "is it sunny | is it sunny out | is it a sunny day | is it sunny outside",
            sunny, {"sunny": "yes"} | dict.fromkeys(("cloudy", "rainy", "snowy"), "no"),
        ),
        Type(
            "time", "is", "time", 1.5,
            "is it day or night | what time of day is it | is it daytime or nighttime",
            spoken(said.SOMEWHERE, hours) | unclear,
        ),
    )  # fmt: skip


def _setting() -> tuple[Type, ...]:
    indoors = yes_no(
        "it is",
        "it is not",
        "yes, indoors | it is indoors | yes, inside",
        "no, outside | it is outside | no, outdoors",
    )
    outdoors = yes_no(
        "it is",
        "it is not",
        "yes, outdoors | it is outdoors | yes, outside",
        "no, inside | it is inside | no, indoors",
    )
    return (
        Type(
            "indoors", "is", "setting", 1.3,
            "is this indoors | is the picture indoors | was this taken indoors | is this inside",
            indoors, {"indoors": "yes", "outdoors": "no"},
        ),
        Type(
            "outdoors", "is", "setting", 1.3,
            "is this outdoors | is the picture outdoors | was this taken outdoors | is this outside",
            outdoors, {"indoors": "no", "outdoors": "yes"},
        ),
        Type(
            "setting", "is", "setting", 1.0,
            "is this indoors or outdoors | is it inside or outside | was this taken inside or outside",
            spoken(said.SOMEWHERE, {"indoors": ("indoors", "inside"), "outdoors": ("outdoors", "outside")}),
        ),
        Type(
            "scene", "what is", "scene", 1.2,
            "what place is this | where was this taken | what kind of place is this | what room or place is it",
            spoken(said.SOMEWHERE, _SCENES),
        ),
    )  # fmt: skip


TYPES: tuple[Type, ...] = (
    *(_presence(thing) for thing in lexicon.BACKGROUND),
    _other_people(),
    _count_of_people(),
    *_image(),
    *_setting(),
)
