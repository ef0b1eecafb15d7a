"""The notebooks: their form, their commands, and, in a slow test, every cell run in order on the tiny world."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TINY = (
    "--config.data.name=vatex_sim/tiny --config.data.min_count=1 --config.data.shapes=1 --config.train.epochs=1 "
    "--config.decode.max_words=12"
)
# A notebook's display, where there is none.
DISPLAY = """
import pathlib, sys, types
shown = types.ModuleType("IPython.display")
shown.Image, shown.display = (lambda filename: pathlib.Path(filename).stat().st_size), print
sys.modules["IPython"], sys.modules["IPython.display"] = types.ModuleType("IPython"), shown
sys.modules["IPython"].version_info = (9, 0)  # matplotlib asks
"""


def cells(path: Path) -> list[str]:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    for cell in book["cells"]:
        assert cell["cell_type"] in ("markdown", "code")
        assert not cell.get("outputs"), "outputs are not committed"
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def as_script(source: str) -> str:
    """The cell as Python: `!` lines as commands on the tiny world, `%pip` left out."""
    lines = []
    for line in source.splitlines():
        if line.startswith("!"):
            words = line[1:].replace("python", sys.executable, 1)
            words += f" {TINY}" if "run_experiment.py" in words else ""
            lines.append(f"import subprocess; subprocess.run({words!r}, shell=True, check=True)")
        elif not line.startswith("%pip"):
            lines.append(line)
    return "\n".join(lines)


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {"quickstart", "table5", "attention", "generative_eval"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_compile_and_name_files_that_exist(path):
    for source in cells(path):
        compile(as_script(source), path.name, "exec")
        for name in re.findall(r"(?:configs|tfds_builders|vatex_jax)/[\w/]+\.py", source):
            assert (ROOT / name).exists(), name


@pytest.mark.slow
def test_every_cell_runs_in_order(tmp_path):
    for name in ("run_experiment.py", "configs", "tfds_builders", "vatex_jax", "results", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = os.environ | {"VATEX_JAX_DATA": str(tmp_path / "data"), "PYTHONPATH": str(tmp_path)}
    for stem in ("quickstart", "table5", "attention", "generative_eval"):
        script = DISPLAY + "\n".join(as_script(source) for source in cells(ROOT / "notebooks" / f"{stem}.ipynb"))
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{stem}: {done.stderr}"
    assert (tmp_path / "attention_video.png").exists()
    assert (tmp_path / "table5_0.png").exists()
