"""Questions about one thing of the image: a person, an animal, a vehicle, a piece of furniture."""

from tfds_builders.visdial_sim import answers as said
from tfds_builders.visdial_sim import lexicon
from tfds_builders.visdial_sim.answers import split, spoken, words, yes_no
from tfds_builders.visdial_sim.question_type import Type


def _looks_of_a_person() -> tuple[Type, ...]:
    ages = {
        "child": ("a child", "about 5", "maybe 7"),
        "teen": ("a teenager", "about 15", "teens"),
        "20s": ("20s", "mid 20s", "maybe 25"),
        "30s": ("30s", "early 30s", "about 35"),
        "40s": ("40s", "maybe 45", "middle aged"),
        "old": ("old", "60s", "elderly"),
    }
    lengths = {"short": ("short",), "medium": ("medium", "shoulder length"), "long": ("long",)}
    genders = {"male": ("male", "a male"), "female": ("female", "a female")}
    return (
        Type(
            "age", "how", "person.age", 1.0,
            "how old is {x} | how old does {x} look | what age is {x}",
            spoken(said.GUESS, ages), role="person",
        ),
        Type(
            "gender", "is", "person.kind", 0.5,
            "is {x} male or female | what gender is {x} | is {x} a male or a female",
            spoken(said.GUESS, genders),
            {kind: "male" if kind in lexicon.MALE else "female" for kind in lexicon.ROLES["person"]}, role="person",
        ),
        Type(
            "hair color", "what color", "person.hair_color", 1.2,
            "what color is {xs} hair | what color hair does {x} have | can you tell {xs} hair color",
            spoken(said.HAIR, words(*lexicon.values("person.hair_color"))), role="person",
        ),
        Type(
            "hair length", "how", "person.hair_length", 0.6,
            "how long is {xs} hair | is {xs} hair long or short",
            spoken(said.HAIR, lengths), role="person",
        ),
    )  # fmt: skip


def _dress_of_a_person() -> tuple[Type, ...]:
    clothes = {
        "t-shirt": ("a t-shirt", "t-shirt and jeans", "a shirt"),
        "suit": ("a suit", "suit and tie"),
        "dress": ("a dress", "dress"),
        "jacket": ("a jacket", "a coat", "jacket"),
        "shorts": ("shorts", "shorts and a shirt"),
        "uniform": ("a uniform", "some uniform"),
    }
    hat = yes_no("{he} is", "{he} is not", "yes, a hat | yes a cap", "no hat | no, no hat")
    glasses = yes_no("{he} is", "{he} is not", "yes, glasses | yes sunglasses", "no glasses | no, no glasses")
    return (
        Type(
            "clothing", "what is", "person.clothing", 1.1,
            "what is {x} wearing | what does {x} wear | what does {x} have on",
            spoken(said.WEARING, clothes), role="person",
        ),
        Type(
            "clothing color", "what color", "person.clothing_color", 1.1,
            "what color is {xs} shirt | what color is {xs} top | what color of shirt does {x} wear",
            spoken(said.SHIRT, words(*lexicon.values("person.clothing_color"))), role="person",
        ),
        Type(
            "hat", "is", "person.hat", 1.1,
            "is {x} wearing a hat | does {x} have a hat | does {x} wear a hat",
            hat, role="person",
        ),
        Type(
            "glasses", "is", "person.glasses", 1.1,
            "is {x} wearing glasses | does {x} have glasses | does {x} wear glasses",
            glasses, role="person",
        ),
    )  # fmt: skip


def _doing() -> tuple[Type, ...]:
    actions = words(*lexicon.values("person.action")) | {"posing": ("posing", "looking at the camera")}
    smiling = yes_no(
        "{he} is",
        "{he} is not",
        "yes {he} is smiling | {he} looks happy",
        "{he} looks serious | no smile",
        unclear=True,
    )
    moving = yes_no("it is", "it is not", "yes it is moving | it's moving", "no, parked | it is parked")
    questions = "what is {x} doing | what does {x} do | can you see what {x} is doing"
    return (
        Type("action", "what is", "person.action", 1.0, questions, spoken(said.DOING, actions), role="person"),
        Type(
            "smiling", "is", "person.smiling", 1.1,
            "is {x} smiling | does {x} look happy | is {x} happy",
            smiling, role="person",
        ),
        Type(
            "animal action", "what is", "animal.action", 1.2,
            questions, spoken(said.DOING, words(*lexicon.values("animal.action"))), role="animal",
        ),
        Type(
            "moving", "is", "vehicle.moving", 1.2,
            "is {x} moving | does {x} move | is {x} in motion",
            moving, role="vehicle",
        ),
    )  # fmt: skip


def _color_and_size(role: str) -> tuple[Type, ...]:
    sizes = {"small": ("small", "little"), "medium": ("medium", "average"), "big": ("big", "large")}
    return (
        Type(
            "color", "what color", f"{role}.color", 1.9,
            "what color is {x} | what is {xs} color | can you tell what color {x} is | what color would {x} be",
            spoken(said.COLOR, words(*lexicon.values(f"{role}.color"))), role=role,
        ),
        Type(
            "size", "how big", f"{role}.size", 0.8,
            "how big is {x} | what size is {x} | is {x} big or small | how large is {x}",
            spoken(said.SIZE, sizes), role=role,
        ),
    )  # fmt: skip


def _count(role: str) -> Type:
    one = split(
        "1 | just 1 | just the 1 | one | only 1 | there is 1 {k} | 1 {k} | i see 1 | just 1 {k} | 1 that i can see"
    )
    several = {number: said.NUMBERS[number] for number in ("2", "3")}
    patterns = (*said.COUNT[:2], "{v} {ks}", *said.COUNT[2:], "there are {v} {ks}")
    answers = {"1": one} | spoken(patterns, several) | {"many": (*said.MANY, "many {ks}", "lots of {ks}")}
    return Type(
        "count", "how many", f"{role}.count", 1.0,
        "how many {ks} are there | how many {ks} | how many {ks} do you see | how many {ks} can you see",
        answers, role=role,
        by_pronoun="how many are there | how many | how many do you see | how many of them can you see",
    )  # fmt: skip


def _state_of_things() -> tuple[Type, ...]:
    new = yes_no("it does", "it does not", "yes, pretty new | it looks new", "no, it looks old | it is old")
    materials = {"wood": ("wood", "wooden")} | words("metal", "plastic", "leather")
    places = {
        "left": ("on the left", "to the left"),
        "right": ("on the right", "to the right"),
        "middle": ("in the middle", "in the center"),
        "background": ("in the background", "in the back"),
        "corner": ("in the corner", "by the wall"),
    }
    return (
        Type(
            "new", "is", "vehicle.new", 1.1,
            "does {x} look new | is {x} new | would you say {x} is new",
            new, role="vehicle",
        ),
        Type(
            "material", "what is", "furniture.material", 1.1,
            "what is {x} made of | what material is {x} | what kind of material is {x}",
            spoken(said.MADE, materials), role="furniture",
        ),
        Type(
            "place", "where", "furniture.place", 1.0,
            "where is {x} | where in the picture is {x} | where do you see {x}",
            spoken(said.WHERE, places), role="furniture",
        ),
    )  # fmt: skip


TYPES: tuple[Type, ...] = (
    *_looks_of_a_person(),
    *_dress_of_a_person(),
    *_doing(),
    *(asked for role in ("animal", "vehicle", "furniture") for asked in _color_and_size(role)),
    *(_count(role) for role in ("animal", "vehicle")),
    *_state_of_things(),
)
