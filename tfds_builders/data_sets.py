"""What `build` can build: one small class a data set, which knows its configurations, its options and its inputs.

TFDS and the builders' modules are imported late: they take a while, and `--help` and wrong options need none of them.
"""

import abc
import dataclasses
import importlib
import json
import pathlib
import re
import shlex
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tfds_builders import staging
from tfds_builders.from_files import SOURCES_FILE
from vatex_jax.errors import ConfigError, DataError

if TYPE_CHECKING:
    import tensorflow_datasets as tfds

Report = Callable[[str], object]

DATA_DIR_VARIABLE = "VATEX_JAX_DATA"


@dataclasses.dataclass(frozen=True)
class Options:
    """What is to be built, from which folder, into which; see the command line's help for the fields."""

    config: str
    data_dir: pathlib.Path
    manual_dir: pathlib.Path | None = None
    image_features: tuple[pathlib.Path, ...] = ()
    missing_features: str = "error"
    stand_in: bool = False
    overwrite: bool = False


class DataSet(abc.ABC):
    """A data set: `name` is also that of its folder in `tfds_builders`."""

    name: str

    @abc.abstractmethod
    def config_of(self, config: str, features: str | None) -> str:
        """The configuration that a name's part behind the slash (or nothing) and the option `features` mean.

        Raises:
          ConfigError: there is none, or the two contradict each other.
        """

    @abc.abstractmethod
    def check(self, options: Options) -> None:
        """Refuses options that have no meaning for this data set.

        Raises:
          ConfigError: one is given.
        """

    @abc.abstractmethod
    def tfds_config(self, config: str) -> "str | tfds.core.BuilderConfig":
        """What TFDS knows the configuration by.

        Raises:
          ConfigError: there is no such configuration.
        """

    @abc.abstractmethod
    def prepare(self, options: Options, final: pathlib.Path, report: Report) -> bool:
        """Writes the data set to `final`, or finds it there (false); called with the lock held."""

    def module(self) -> ModuleType:
        """The module with the TFDS builder."""
        return importlib.import_module(f"tfds_builders.{self.name}.{self.name}_dataset_builder")

    def make(self, options: Options, data_dir: pathlib.Path, **inputs: object) -> "tfds.core.DatasetBuilder":
        """The TFDS builder for a folder of data sets."""
        return self.module().Builder(data_dir=data_dir, config=self.tfds_config(options.config), **inputs)

    def write(self, options: Options, final: pathlib.Path, **inputs: object) -> None:
        """Builds from `inputs`; see `staging.write`."""
        staging.write(
            options.data_dir, final, self.name, options.config, lambda folder: self.make(options, folder, **inputs)
        )


class FromFiles(DataSet):
    """A data set made from official files: the first of `configs` is the default, `columns` are those of its report."""

    configs: tuple[str, ...]
    columns: tuple[str, ...]

    @abc.abstractmethod
    def collect(self, options: Options) -> Any:
        """The `Inputs` that the options name.

        Raises:
          DataError: files are missing or malformed.
          ConfigError: options do not go together.
        """

    def inputs_module(self) -> ModuleType:
        """The module with `INSTRUCTIONS` and `differences`."""
        return importlib.import_module(f"tfds_builders.{self.name}.inputs")

    def config_of(self, config: str, features: str | None) -> str:
        if features is not None:
            raise ConfigError(f"features is an option of vatex, not of {self.name}.")
        config = config or self.configs[0]
        if config not in self.configs:
            known = " and ".join(self.configs)
            raise ConfigError(f"{config!r}: {self.name} has no such configuration; there are {known}.")
        return config

    def tfds_config(self, config: str) -> str:
        return config

    def prepare(self, options: Options, final: pathlib.Path, report: Report) -> bool:
        name = f"{self.name}/{options.config}"
        if options.manual_dir is None:
            raise DataError(self._without_files(name, final, options))
        inputs = self.collect(options)
        if staging.is_complete(final) and not options.overwrite:
            self._require_same(final, inputs.sources)
            report(f"{name} is built already, from these files: {final}")
            return False
        for remark in inputs.remarks:
            report(remark)
        if inputs.sources["stand_in"]:
            report("The features are stand-ins: whatever is made from this data set says so.")
        self.write(options, final, inputs=inputs)
        splits = inputs.sources["splits"].items()
        rows = [(split, *(described[column] for column in self.columns)) for split, described in splits]
        for line in table(("split", *self.columns), rows):
            report(line)
        return True

    def _without_files(self, name: str, final: pathlib.Path, options: Options) -> str:
        why, anew = f"is not built yet: there is no {final.absolute()}", ""
        if options.overwrite:
            why, anew = "cannot be built anew without its files", " --overwrite"
        place = shlex.quote(str(options.data_dir))
        return (
            f"{name} {why}. Build it with\n"
            f"  python tfds_builders/build.py {name} --manual_dir=FOLDER --data_dir={place}{anew}\n"
            f"or, where another folder of data sets has it, name that one: ${DATA_DIR_VARIABLE}.\n"
            f"{self.inputs_module().INSTRUCTIONS}"
        )

    def _require_same(self, built: pathlib.Path, wanted: dict[str, object]) -> None:
        path = built / SOURCES_FILE
        try:
            sources = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError) as error:
            raise DataError(f"{path}: missing or damaged. Say --overwrite to build the data set anew.") from error
        differing = self.inputs_module().differences(sources if isinstance(sources, dict) else {}, wanted)
        if differing:
            raise DataError(
                f"{built} was built from other files: {'; '.join(differing)}. Say --overwrite to replace it, or choose "
                "another --data_dir."
            )


class Vatex(FromFiles):
    """VaTeX; a configuration says which features it has."""

    name = "vatex"
    configs = ("i3d", "none")
    columns = ("videos", "en", "zh", "pairs", "skipped")

    def config_of(self, config: str, features: str | None) -> str:
        if features is not None and config and features != config:
            raise ConfigError(f"vatex/{config} and features={features} contradict each other. Give one of them.")
        return super().config_of(config or features or "", None)

    def check(self, options: Options) -> None:
        if options.image_features:
            raise ConfigError("image_features is an option of visdial; vatex has its features in the folder.")

    def collect(self, options: Options) -> Any:
        return self.inputs_module().collect(
            options.manual_dir,
            with_features=options.config != "none",
            missing_features=options.missing_features,
            stand_in=options.stand_in,
        )


class Visdial(FromFiles):
    """VisDial; a configuration is a version."""

    name = "visdial"
    configs = ("v1.0", "v0.9")
    columns = ("dialogues", "questions", "dense", "dropped", "skipped")

    def check(self, options: Options) -> None:
        if options.image_features and options.manual_dir is None:
            raise ConfigError("image_features goes with manual_dir: name the folder with the dialogues, too.")

    def collect(self, options: Options) -> Any:
        return self.inputs_module().collect(
            options.manual_dir,
            version=options.config.removeprefix("v"),
            image_features=options.image_features,
            missing_features=options.missing_features,
            stand_in=options.stand_in,
        )


class Simulated(DataSet):
    """A world made from a seed, of `examples`; its module has `make_config(size, world_seed)`."""

    def __init__(self, name: str, examples: str):
        self.name, self.examples = name, examples

    def config_of(self, config: str, features: str | None) -> str:
        if features is not None:
            raise ConfigError(f"features is an option of vatex; {self.name} always has its simulated features.")
        return (config or "default").removesuffix("-w0")

    def check(self, options: Options) -> None:
        if options.manual_dir or options.image_features or options.stand_in or options.missing_features != "error":
            raise ConfigError(
                f"{self.name} is made from a seed: manual_dir, image_features, missing_features and stand_in are for "
                "data sets made from files."
            )

    def tfds_config(self, config: str) -> "tfds.core.BuilderConfig":
        size, marker, seed = config.partition("-w")
        if marker and not re.fullmatch(r"[0-9]{1,9}", seed):
            raise ConfigError(f"{config!r}: a world seed is a whole number, as in default-w7.")
        return self.module().make_config(size, int(seed or 0))

    def prepare(self, options: Options, final: pathlib.Path, report: Report) -> bool:
        report(f"Making {self.name}/{options.config} ...")
        self.write(options, final)
        splits = self.make(options, options.data_dir).info.splits
        for line in table(("split", self.examples), [(name, split.num_examples) for name, split in splits.items()]):
            report(line)
        return True


def table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> list[str]:
    """Lines of a table whose first column is text and whose others are numbers."""
    cells = [list(head)] + [[row[0], *(f"{number:,}" for number in row[1:])] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]


DATA_SETS: dict[str, DataSet] = {
    data_set.name: data_set
    for data_set in (Vatex(), Simulated("vatex_sim", "videos"), Visdial(), Simulated("visdial_sim", "dialogues"))
}
