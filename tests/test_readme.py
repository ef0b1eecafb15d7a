"""The README's commands exist and parse."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tfds_builders import build
from vatex_jax.reports import cells, tables

RUNS = 75
"""Of Table 6 on one world: three rows, five maskings, five seeds."""

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    found = []
    for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in line.partition(" #")[0].split("&&"):
                words = shlex.split(part, comments=True)
                if words:
                    found.append(words)
    return found


def of_script(name: str) -> list[list[str]]:
    return [words for words in commands() if words[0] == "python" and words[1] == name]


def test_the_two_commands_stand_there_as_promised():
    quickstart = re.search(r"```bash\n# quickstart\n(.*?)```", README, re.DOTALL).group(1)
    assert quickstart.splitlines() == [
        "pip install -r requirements.txt && python run_experiment.py --config=configs/vmt.py",
        "pip install -r requirements-dev.txt && python -m pytest",
    ]


def test_files_that_commands_name_exist():
    for words in commands():
        for word in words:
            for name in re.findall(r"[\w./-]+\.(?:py|txt)", word):
                assert (ROOT / name).exists(), f"{name} in {' '.join(words)}"


@pytest.mark.parametrize("words", of_script("run_experiment.py"), ids=" ".join)
def test_experiment_commands_parse(words):
    flags = dict(word.removeprefix("--").split("=", 1) for word in words[2:])
    path, _, variant = flags.pop("config").partition(":")
    namespace: dict = {"__name__": "config"}
    exec(compile((ROOT / path).read_text(encoding="utf-8"), path, "exec"), namespace)
    config = namespace["get_config"](variant)
    for flag in flags:
        if flag.startswith("config."):
            place = config
            for name in flag.split(".")[1:]:
                assert name in place, f"{flag}: no such field"
                place = place[name]
        else:
            assert flag in {"workdir", "mode", "overwrite"}
    assert flags.get("mode", "describe") in {"train_and_evaluate", "evaluate", "predict", "describe"}


@pytest.mark.parametrize("words", of_script("tfds_builders/build.py"), ids=" ".join)
def test_build_commands_parse(words):
    parsed = build.parse_arguments(words[2:])
    assert parsed.name.split("/")[0] in build.NAMES


def test_no_figure_waits_to_be_filled_in():
    assert "@@" not in README


def test_linked_files_exist():
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_the_table_of_visual_dialogue_holds_the_figures_of_the_kept_results():
    text = README.partition("<!-- visual dialogue, table 5 -->")[2]
    lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "(learned)" in line)
    shown = {label: figures for label, *figures in lines}
    assert len(shown) == 5
    table = tables.TABLES["visdial_table5"]
    worlds = cells.blocks(table, cells.load_runs([ROOT / "results" / "visdial_table5"]))
    assert [block.dataset["name"] for block in worlds] == ["visdial_sim/default", "visdial_sim/default-w12"]
    for label, figures in shown.items():
        kept = []
        for block in worlds:
            (run,) = block.cells[label, "MR"]
            found = run.result["metrics"]
            low, high = found["mr_low"], found["mr_high"]
            kept += [f"{found['mr']:.1f} [{low:.1f}, {high:.1f}]", f"{found['r@1']:.1f}", f"{found['ndcg']:.3f}"]
        assert figures == kept


def test_extras_that_are_named_exist():
    named = set()
    for path in (ROOT / "README.md", ROOT / "benchmarks" / "README.md", *ROOT.glob("vatex_jax/**/*.py"),
                 *ROOT.glob("tfds_builders/**/*.py"), *ROOT.glob("tfds_builders/*/README.md")):  # fmt: skip
        named |= set(re.findall(r"(?:\.|vatex-jax)\[([a-z0-9]+)\]", path.read_text(encoding="utf-8")))
    named |= {"fasttext", "glove"}  # whose messages are put together
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert named <= extras.keys()


@pytest.mark.parametrize("kind", ["noun", "verb"])
@pytest.mark.parametrize("variant", ["none", "attention", "shuffled"])
def test_the_table_of_masked_translation_holds_the_figures_of_the_kept_results(variant, kind):
    block = README.partition("<!-- masked -->")[2].partition("<!-- end of masked -->")[0]
    worlds = [path for path in (ROOT / "results" / "vatex_table6").iterdir() if len(list(path.iterdir())) == RUNS]
    assert worlds
    for world in worlds:
        for metric in ("bleu4", f"{kind}_recovery"):
            for masking in ("whole", f"{kind}50", f"{kind}100"):
                found = cells.load_runs([world / f"{variant}-{masking}-seed{seed}" for seed in range(5)])
                mean, half = cells.mean_and_half_width(found, metric)
                assert f"| {mean:.1f} ± {half:.1f} |" in block
