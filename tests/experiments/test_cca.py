"""The CCA experiment from files to files, on the tiny world and on a world written out by hand."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from configs import cca as configs
from vatex_jax.data.dialogues import NONE, Dialogues
from vatex_jax.data.sources import Source
from vatex_jax.data.submissions import read_generations, read_ranks
from vatex_jax.errors import CheckpointError, ConfigError, DataError
from vatex_jax.experiments import cca, rankers
from vatex_jax.experiments.cca_data import CCAData, Turns, load_cca_data
from vatex_jax.experiments.cca_outputs import annotation_faults
from vatex_jax.reports import cells, results, tables
from vatex_jax.text.sentences import tokenize
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]


def small(variant="aq"):
    config = configs.get_config(variant)
    config.data.name = "visdial_sim/tiny"
    config.vectors.update({"dimension": 8, "min_count": 1})
    config.cca.update({"k": 8, "regularization": 1e-3})  # two dozen images do not span their features
    config.neighbours.update({"questions": 10, "images": 3})
    config.generation.neighbours = 10
    config.eval.update({"bootstrap_samples": 20, "figures": False})
    return config


@pytest.fixture(scope="module", autouse=True)
def data_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VATEX_JAX_DATA", str(tmp_path_factory.mktemp("tfds")))
        yield


@pytest.mark.parametrize("variant", configs.VARIANTS)
def test_every_variant_ranks_and_says_how(variant, tmp_path, capsys):
    config = small(variant)
    config.eval.figures = variant == "aq"
    cca.run(config, tmp_path / "run", "train_and_evaluate")
    result = results.read(tmp_path / "run" / "results.json")
    metrics = result["metrics"]
    assert (result["variant"], metrics["questions"], metrics["annotated"]) == (variant, 80, 8)
    for name in ("mr", "r@1", "r@5", "r@10", "mrr", "ndcg"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
    lines = (tmp_path / "run" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    ranks = [json.loads(line)["rank"] for line in lines]
    assert np.mean(ranks) == pytest.approx(metrics["mr"])
    assert (tmp_path / "run" / "figures" / "ranks.png").exists() == (variant == "aq")
    if variant == "aq":
        table = (tmp_path / "run" / "figures" / "ranks.csv").read_text().splitlines()
        shares = np.array([float(line.split(",")[1]) for line in table[1:]])
        assert (len(shares), shares @ np.arange(1, 101)) == (100, pytest.approx(metrics["mr"], abs=1e-3))
    assert (tmp_path / "run" / "generations.json").exists() == (variant == "aq")
    assert "SIMULATED" in capsys.readouterr().out
    assert ("cluster_correlation" in metrics) == (not variant.startswith("nn"))


def test_the_default_beats_chance_and_the_same_vectors_without_cca(tmp_path):
    mean_ranks = {
        variant: cca.run(small(variant), tmp_path / variant, "train_and_evaluate")["metrics"]
        for variant in ("aq", "none")
    }
    assert mean_ranks["aq"]["mr_high"] < 50.5
    assert mean_ranks["aq"]["mr"] < mean_ranks["none"]["mr"]


def test_predict_and_evaluate_use_the_fitted_model(tmp_path, capsys):
    config, folder = small(), tmp_path / "run"
    first = cca.run(config, folder, "train_and_evaluate")
    again = cca.run(config, folder, "evaluate")
    assert again["metrics"] == first["metrics"]
    config.generation.generations = 3
    config.data.test_split = "validation"
    assert cca.run(config, folder, "predict") is None
    apart = folder / "decoded" / "test_split=validation,generations=3"
    ranks = read_ranks(apart / "ranks.json")
    assert ranks.ranks.shape == (80, 100)
    generations = read_generations(apart / "generations.json")
    assert {len(texts) for texts in generations.texts} == {3}
    np.testing.assert_array_equal(generations.image_ids, ranks.image_ids)
    capsys.readouterr()
    (folder / "cca.npz").unlink()
    with pytest.raises(DataError, match=r"cca\.npz: cannot be read"):
        cca.run(small(), folder, "evaluate")


def test_a_folder_with_another_run_is_refused(tmp_path):
    cca.run(small(), tmp_path / "run", "train_and_evaluate")
    other = small()
    other.cca.p = 2.0
    with pytest.raises(CheckpointError, match=r"cca\.p: 1\.0 there, 2\.0 now"):
        cca.run(other, tmp_path / "run", "train_and_evaluate")
    assert cca.run(other, tmp_path / "run", "train_and_evaluate", overwrite=True)["config"]["cca"]["p"] == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": "qa"}, "config.variant is 'qa'"),
        ({"cca": {"k": 0}}, "config.cca.k is 0"),
        ({"generation": {"negative": "abs"}}, "config.generation.negative is 'abs'"),
        ({"generation": {"generations": -1}}, "generations is -1"),
        ({"variant": "none"}, "only the variant aq generates"),
        ({"vectors": {"source": ""}}, "config.vectors.source is empty"),
        ({"data": {"name": "vatex_sim/tiny"}}, "holds no visual dialogues"),
        ({"data": {"test_split": "dev"}}, "has no split 'dev'"),
    ],
)
def test_what_cannot_be_run_is_told(changes, message, tmp_path):
    config = small()
    config.update(changes)
    with pytest.raises((ConfigError, DataError), match=message):
        cca.run(config, tmp_path / "run", "train_and_evaluate")


def test_describe_needs_no_data(capsys, monkeypatch):
    monkeypatch.setenv("VATEX_JAX_DATA", "/nowhere")
    cca.run(configs.get_config(), Path("/nowhere"), "describe")
    assert "parameters: 2,144" in capsys.readouterr().out  # 32 eigenvalues, two views of 32 x 32 weights and 32 means
    cca.run(configs.get_config("paper"), Path("/nowhere"), "describe")
    assert "to be named in config.vectors.source" in capsys.readouterr().out


def test_the_run_says_what_its_scores_come_from(tmp_path, capsys):
    config = small()
    config.cca.k = 300
    with pytest.warns(UserWarning, match="k is 8 now"):
        cca.run(config, tmp_path / "run", "train_and_evaluate")
    assert "CCA k 8, p 1, regularization 0.001, unit; generations of 10 neighbours" in capsys.readouterr().out


def test_all_rows_make_one_table(tmp_path):
    for variant in configs.VARIANTS:
        cca.run(small(variant), tmp_path / variant, "train_and_evaluate")
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    assert all(len(runs) == 1 for runs in block.cells.values())
    text = tables.render(table, [block], "text")
    assert "missing" not in text
    assert "cut at the number of relevances above 0" in text


def test_describes_count_is_the_models(tmp_path):
    assert cca.run(small(), tmp_path / "run", "train_and_evaluate")["parameters"] == cca.parameters(small())


@pytest.mark.slow
def test_the_command_line_loads_no_jax(tmp_path):
    """As users run it, with jax made impossible to import."""
    (tmp_path / "jax.py").write_text("raise ImportError('jax was imported')\n")
    done = subprocess.run(
        [sys.executable, "run_experiment.py", "--config=configs/cca.py", "--config.data.name=visdial_sim/tiny",
         "--config.vectors.dimension=8", "--config.cca.k=8", f"--workdir={tmp_path}/run"],
        cwd=ROOT, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path),
        "VATEX_JAX_DATA": str(tmp_path / "tfds")}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Ranks of the ground truth" in done.stdout
    assert "NDCG" in done.stdout


def by_hand():
    """Three training questions about two images, one test question with three candidates."""
    return CCAData(
        source=Source("by hand", "1", Path(), simulated=True, stand_in=False, builder=None),
        train=dialogues([[0.0] * 3] * 2, [0, 0], [-1, -1], images=[[0.0], [9.0]]),
        test=dialogues([[0.0] * 3], [2], [-1], images=[[8.0]]),
        words=WordVectors(Vocabulary.build([], 1), np.zeros((5, 2), np.float32), np.zeros(5, bool), "by hand"),
        questions=np.array([[1.0, 0.0], [0.0, 1.0]], np.float32),
        answers=np.array([[4.0, 0.0], [0.0, 4.0], [6.0, 2.0]], np.float32),
        question_texts=("a", "b"),
        answer_texts=("x", "y", "z"),
        training=Turns(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([0, 1, 2])),
        turns=Turns(np.array([0]), np.array([0]), np.array([0]), np.array([2])),
        options=np.array([[0, 1, 2]]),
        gt_index=np.array([2]),
        unknown_share=0.0,
    )


def test_nearest_neighbours_by_hand():
    config, data = small("nn_aq"), by_hand()
    config.neighbours.questions = 2
    # The two askings of the same question, whose answers' mean is (5, 1).
    expected = -np.linalg.norm(data.answers - np.array([5.0, 1.0]), axis=1)
    np.testing.assert_allclose(rankers.score(config, data, None), [expected], rtol=1e-6)
    config = small("nn_aqi")
    config.neighbours.update({"questions": 2, "images": 1})
    # Of these two the one about the image at 9.
    expected = -np.linalg.norm(data.answers - np.array([6.0, 2.0]), axis=1)
    np.testing.assert_allclose(rankers.score(config, data, None), [expected], rtol=1e-6)


def test_without_cca_vectors_are_centred_on_the_training_questions_and_answers():
    data = by_hand()
    found = rankers.directions(small("none"), data, None)
    question = np.array([1.0, 0.0]) - np.array([2.0, 1.0]) / 3
    answers = data.answers - np.array([10.0, 6.0]) / 3
    expected = answers @ question / np.linalg.norm(question) / np.linalg.norm(answers, axis=1)
    np.testing.assert_allclose((found.questions @ found.answers.T)[0], expected, atol=1e-6)


def test_images_are_asked_for_where_there_are_none():
    data = by_hand()
    data = dataclasses.replace(data, train=dataclasses.replace(data.train, images=np.zeros((2, 0), np.float32)))
    with pytest.raises(DataError, match="built without image features"):
        rankers.score(small("nn_aqi"), data, None)


def dialogues(relevance, gt_index, relevance_round, images=None):
    count = len(relevance)
    return Dialogues(
        name="x",
        image_ids=np.arange(count),
        captions=("",) * count,
        rounds=np.full(count, 1, np.int32),
        question_table=("q",),
        answer_table=("a",),
        questions=np.full((count, 10), NONE, np.int32),
        answers=np.full((count, 10), NONE, np.int32),
        options=np.zeros((count, 10, len(relevance[0])), np.int32),
        gt_index=np.array(gt_index, np.int32)[:, None] + np.zeros((count, 10), np.int32),
        relevance_round=np.array(relevance_round, np.int32),
        relevance=np.array(relevance, np.float32),
        images=np.zeros((count, 0), np.float32) if images is None else np.array(images, np.float32),
    )


def test_faults_of_the_annotations_by_hand():
    relevance = [[1.0, 0.0, 0.2], [0.8, 0.0, 0.2], [0.0, 0.0, 0.0], [0.0, 0.4, 1.0]]
    split = dialogues(relevance, gt_index=[1, 0, 0, 1], relevance_round=[0, 3, -1, 9])
    assert annotation_faults(split) == {
        "no_full_relevance": pytest.approx(100 / 3), "rejected_ground_truth": pytest.approx(100 / 3),
    }  # fmt: skip
    assert annotation_faults(dialogues(relevance, [0, 0, 0, 0], [-1, -1, -1, -1])) == {}


def test_only_the_training_split_makes_the_vocabulary_and_the_vectors():
    config = small()
    config.vectors.min_count = 2
    data = load_cca_data(config, lambda line: None, judged=True)
    said = {data.answer_texts[answer] for answer in data.training.answer}
    heard = {word for text in (*said, *data.train.question_table, *data.train.captions) for word in tokenize(text)}
    unheard = {word for text in data.answer_texts for word in tokenize(text)} - heard
    assert unheard
    assert not unheard & set(data.words.vocabulary.words)
