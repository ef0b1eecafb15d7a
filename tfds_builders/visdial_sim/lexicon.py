"""What an image of the simulated world may hold: its attributes, their values and how probable these are.

An image has a setting, a background, and up to four things that can be asked about, one a role: a person, an animal, a
vehicle, a piece of furniture. The content of every answer is a function of one attribute.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping

NONE = "none"  # the kind of a role that is not in the image
ROLES: Mapping[str, tuple[str, ...]] = {
    "person": ("man", "woman", "boy", "girl"),
    "animal": ("dog", "cat", "horse", "cow", "bird", "elephant"),
    "vehicle": ("car", "bus", "train", "bike", "boat", "truck"),
    "furniture": ("table", "chair", "couch", "bed", "bench", "desk"),
}
MALE = ("man", "boy")


@dataclasses.dataclass(frozen=True)
class Thing:
    """Something of the background: a noun as after `I see`, and without its article."""

    phrase: str
    noun: str
    plural: bool
    indoors: float  # how probable it is there
    outdoors: float


BACKGROUND = (
    Thing("trees", "trees", True, 0.10, 0.75),
    Thing("buildings", "buildings", True, 0.05, 0.55),
    Thing("grass", "grass", False, 0.04, 0.60),
    Thing("water", "water", False, 0.10, 0.30),
    Thing("a fence", "fence", False, 0.04, 0.35),
    Thing("signs", "signs", True, 0.12, 0.40),
    Thing("windows", "windows", True, 0.65, 0.30),
    Thing("lamps", "lamps", True, 0.50, 0.10),
    Thing("flowers", "flowers", True, 0.30, 0.25),
    Thing("mountains", "mountains", True, 0.02, 0.25),
    Thing("pictures", "pictures", True, 0.45, 0.03),
    Thing("curtains", "curtains", True, 0.45, 0.04),
    Thing("a rug", "rug", False, 0.40, 0.03),
    Thing("shadows", "shadows", True, 0.30, 0.55),
)


@dataclasses.dataclass(frozen=True)
class Attribute:
    """A variable of an image. `priors` has a row for each value of the attribute `given`, or one row.

    An attribute `role.name` has no value where the image has nothing of that role.
    """

    name: str
    values: tuple[str, ...]
    priors: tuple[tuple[float, ...], ...]
    given: str = ""

    @property
    def role(self) -> str:
        """The role without which it has no value; empty for those that every image has."""
        role, _, name = self.name.partition(".")
        return role if role in ROLES and name != "kind" else ""


def _kinds(role: str, indoors: float, outdoors: float) -> Attribute:
    kinds = ROLES[role]
    rows = tuple((*(share / len(kinds) for _ in kinds), 1 - share) for share in (indoors, outdoors))
    return Attribute(f"{role}.kind", (*kinds, NONE), rows, "setting")


def _yes(name: str, *shares: float, given: str = "") -> Attribute:
    return Attribute(name, ("yes", "no"), tuple((share, 1 - share) for share in shares), given)


_NOWHERE = (0.0,) * 5
_ADULT_AGE = (0.0, 0.04, 0.36, 0.30, 0.16, 0.14)
_CHILD_AGE = (0.72, 0.28, 0.0, 0.0, 0.0, 0.0)
COUNTS = ("1", "2", "3", "many")
SIZES = ("small", "medium", "big")

# In the order they are drawn: what is given comes first.
ATTRIBUTES = (
    Attribute("setting", ("indoors", "outdoors"), ((0.42, 0.58),)),
    Attribute(
        "scene",
        ("kitchen", "living room", "bedroom", "bathroom", "office", "street", "park", "beach", "field", "parking lot"),
        ((0.30, 0.30, 0.16, 0.12, 0.12, *_NOWHERE), (*_NOWHERE, 0.36, 0.24, 0.14, 0.16, 0.10)),
        "setting",
    ),
    Attribute(
        "weather",
        ("sunny", "cloudy", "rainy", "snowy", "unclear"),
        ((0.14, 0.03, 0.02, 0.01, 0.80), (0.54, 0.22, 0.07, 0.07, 0.10)),
        "setting",
    ),
    Attribute(
        "time",
        ("day", "evening", "night", "unclear"),
        ((0.46, 0.06, 0.10, 0.38), (0.78, 0.09, 0.10, 0.03)),
        "setting",
    ),
    _yes("in_color", 0.90),
    *(_yes(f"background.{thing.noun}", thing.indoors, thing.outdoors, given="setting") for thing in BACKGROUND),
    _kinds("person", 0.80, 0.80),
    _kinds("animal", 0.45, 0.55),
    _kinds("vehicle", 0.12, 0.65),
    _kinds("furniture", 0.92, 0.35),
    Attribute(
        "people",
        ("0", "1", "2", "3", "4", "many"),
        (*((0.0, 0.48, 0.20, 0.11, 0.07, 0.14),) * 4, (0.72, 0.06, 0.06, 0.04, 0.03, 0.09)),
        "person.kind",
    ),
    Attribute(
        "person.age",
        ("child", "teen", "20s", "30s", "40s", "old"),
        (_ADULT_AGE, _ADULT_AGE, _CHILD_AGE, _CHILD_AGE),
        "person.kind",
    ),
    Attribute("person.hair_color", ("brown", "black", "blonde", "gray", "red"), ((0.38, 0.27, 0.20, 0.10, 0.05),)),
    Attribute(
        "person.hair_length",
        ("short", "medium", "long"),
        ((0.85, 0.10, 0.05), (0.18, 0.32, 0.50), (0.80, 0.15, 0.05), (0.20, 0.35, 0.45)),
        "person.kind",
    ),
    Attribute(
        "person.clothing",
        ("t-shirt", "suit", "dress", "jacket", "shorts", "uniform"),
        (
            (0.38, 0.17, 0.00, 0.21, 0.12, 0.12),
            (0.34, 0.06, 0.28, 0.18, 0.08, 0.06),
            (0.45, 0.03, 0.00, 0.20, 0.24, 0.08),
            (0.36, 0.00, 0.30, 0.18, 0.12, 0.04),
        ),
        "person.kind",
    ),
    Attribute(
        "person.clothing_color",
        ("white", "black", "blue", "red", "green", "gray", "yellow", "pink"),
        ((0.25, 0.20, 0.20, 0.12, 0.07, 0.08, 0.04, 0.04),),
    ),
    Attribute(
        "person.action",
        ("standing", "sitting", "walking", "eating", "talking", "playing", "posing"),
        ((0.28, 0.22, 0.14, 0.10, 0.08, 0.10, 0.08),),
    ),
    Attribute("person.smiling", ("yes", "no", "unclear"), ((0.42, 0.40, 0.18),)),
    _yes("person.hat", 0.32),
    _yes("person.glasses", 0.27),
    Attribute(
        "animal.color",
        ("brown", "black", "white", "gray", "tan", "black and white"),
        ((0.30, 0.19, 0.18, 0.13, 0.09, 0.11),),
    ),
    Attribute("animal.count", COUNTS, ((0.52, 0.24, 0.12, 0.12),)),
    Attribute("animal.size", SIZES, ((0.30, 0.30, 0.40),)),
    Attribute(
        "animal.action", ("standing", "lying down", "eating", "walking", "sleeping"), ((0.36, 0.22, 0.16, 0.16, 0.10),)
    ),
    Attribute(
        "vehicle.color",
        ("white", "red", "blue", "black", "silver", "yellow", "green"),
        ((0.24, 0.20, 0.17, 0.14, 0.10, 0.08, 0.07),),
    ),
    Attribute("vehicle.count", COUNTS, ((0.56, 0.18, 0.10, 0.16),)),
    Attribute("vehicle.size", SIZES, ((0.22, 0.30, 0.48),)),
    _yes("vehicle.moving", 0.34),
    _yes("vehicle.new", 0.57),
    Attribute(
        "furniture.color",
        ("brown", "white", "black", "tan", "gray", "red"),
        ((0.36, 0.24, 0.15, 0.11, 0.09, 0.05),),
    ),
    Attribute("furniture.material", ("wood", "metal", "plastic", "leather"), ((0.54, 0.20, 0.14, 0.12),)),
    Attribute("furniture.size", SIZES, ((0.28, 0.36, 0.36),)),
    Attribute(
        "furniture.place", ("left", "right", "middle", "background", "corner"), ((0.24, 0.24, 0.24, 0.18, 0.10),)
    ),
)
INDEX: Mapping[str, int] = {attribute.name: index for index, attribute in enumerate(ATTRIBUTES)}


def values(attribute: str) -> tuple[str, ...]:
    """The values of the attribute of a name."""
    return ATTRIBUTES[INDEX[attribute]].values


# Contents that an annotator may take for one another.
NEAR = (
    ("white", "gray"), ("black", "gray"), ("brown", "tan"), ("brown", "black"), ("gray", "silver"), ("white", "silver"),
    ("red", "pink"), ("blonde", "brown"), ("blue", "green"),
    ("1", "2"), ("2", "3"), ("3", "4"), ("3", "many"), ("4", "many"),
    ("child", "teen"), ("teen", "20s"), ("20s", "30s"), ("30s", "40s"), ("40s", "old"),
    ("small", "medium"), ("medium", "big"), ("short", "medium"), ("medium", "long"),
    ("sunny", "cloudy"), ("cloudy", "rainy"), ("day", "evening"), ("evening", "night"),
    ("standing", "walking"), ("standing", "posing"), ("lying down", "sleeping"), ("background", "corner"),
    ("street", "parking lot"), ("park", "field"),
)  # fmt: skip


@functools.cache
def near(content: str) -> frozenset[str]:
    """The contents that are easily taken for this one."""
    return frozenset(other for pair in NEAR if content in pair for other in pair if other != content)


def plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def with_articles(text: str) -> str:
    """`a` becomes `an` where a vowel follows."""
    return re.sub(r"\ba (?=[aeio])", "an ", text)
