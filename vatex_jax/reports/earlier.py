"""Configurations written before a field existed: the value that a missing field stands for.

A new configuration field must not make every kept result and every trained run "another configuration". Each field
that was added later is listed in `FIELDS` with the value that keeps the old behaviour. A kept configuration is
completed with these values when it is read, and a trained run's fingerprint leaves out fields that have them, so that
it is the digest that was written then.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field that configurations of earlier versions lack.

    Attributes:
        name: dotted path, `model.scale_embedding`.
        experiments: the values of `config.experiment` that have it.
        value: what its absence stands for: a value, or a function of the configuration.
    """

    name: str
    experiments: tuple[str, ...]
    value: Any | Callable[[Mapping[str, Any]], Any]

    def of(self, config: Mapping[str, Any]) -> Any:
        """The value that keeps the behaviour of the version that wrote `config`."""
        return self.value(config) if callable(self.value) else self.value


def _average_was_scaled(config: Mapping[str, Any]) -> bool:
    """Mean segment features were not multiplied by `feature_scale`; other models have no mean to scale."""
    return config.get("model", {}).get("video") != "average"


def _embedding_was_scaled(config: Mapping[str, Any]) -> bool:
    """Tied embeddings were multiplied by sqrt(E), untied ones were not."""
    return bool(config.get("model", {}).get("tied"))


FIELDS: tuple[Field, ...] = (
    Field("model.scale_average", ("translation", "masked_translation"), _average_was_scaled),
    Field("model.scale_embedding", ("captioning",), _embedding_was_scaled),
)
"""One entry for each field added since version 0.1; tests/reports/test_earlier.py holds a test for each."""


def completed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of a kept configuration with the fields that did not exist when it was written.

    A field is added only if the section that holds it is there.
    """
    config = copy.deepcopy(dict(config))
    for field, section, name in _fields_of(config):
        section.setdefault(name, field.of(config))
    return config


def without_earlier(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of a configuration without the later fields that have the value of their absence."""
    config = copy.deepcopy(dict(config))
    drop = [(section, name) for field, section, name in _fields_of(config)
            if name in section and section[name] == field.of(config)]  # fmt: skip
    for section, name in drop:
        del section[name]
    return config


def _fields_of(config: Mapping[str, Any]) -> list[tuple[Field, dict[str, Any], str]]:
    """The later fields that a configuration has or lacks, each with its section and its name there."""
    fields = []
    for field in FIELDS:
        *path, name = field.name.split(".")
        section: Any = config
        for key in path:
            section = section.get(key) if isinstance(section, Mapping) else None
        if config.get("experiment") in field.experiments and isinstance(section, dict):
            fields.append((field, section, name))
    return fields
