"""What a type of question is; `image_questions` and `thing_questions` hold those of the world.

A template's slots: `{x}` and `{xs}` what is asked about (`the dog`, `the dog's`, or by pronoun `it`, `its`), `{k}` and
`{ks}` its noun in singular and plural, `{he}` and `{his}` its pronouns. Templates stand between bars.
"""

import dataclasses
from collections.abc import Mapping

from tfds_builders.visdial_sim.answers import Answers


@dataclasses.dataclass(frozen=True)
class Type:
    """A kind of question: the attribute that answers it, how it is asked, what may be answered.

    Attributes:
      name: the type; `color` is asked of animals, vehicles and furniture alike, as three `Type`s of one name.
      family: types of one family have similar questions, as their first words go.
      attribute: name of the attribute whose value decides the content.
      weight: how often it is asked, relative to the other types.
      questions: templates, between bars.
      answers: content -> its paraphrases.
      reading: value of the attribute -> content, for values that are not contents themselves.
      role: what it asks about, or asks of those beside it; empty for the image as a whole.
      subject: what it asks about where that is no role but fixed.
      by_pronoun: templates where the thing is named by a pronoun, if they are not `questions` with a pronoun.
    """

    name: str
    family: str
    attribute: str
    weight: float
    questions: str
    answers: Answers
    reading: Mapping[str, str] = dataclasses.field(default_factory=dict)
    role: str = ""
    subject: str = ""
    by_pronoun: str = ""

    @property
    def names_thing(self) -> bool:
        """Whether its questions name the thing of its role, so that a pronoun can take its place."""
        return "{x" in self.questions or "{ks}" in self.questions
