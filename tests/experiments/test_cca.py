"""The CCA experiment from files to files, on the tiny world and on a world written out by hand."""

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from configs import cca as configs
from tfds_builders.build import build
from tfds_builders.visdial import visdial_dataset_builder
from vatex_jax.cca.cca import fit
from vatex_jax.data.dialogues import NONE, Dialogues
from vatex_jax.data.sources import Source
from vatex_jax.data.submissions import read_generations, read_ranks
from vatex_jax.errors import CheckpointError, ConfigError, DataError
from vatex_jax.experiments import cca, rankers
from vatex_jax.experiments import cca_outputs as outputs
from vatex_jax.experiments.cca_data import CCAData, Turns, load_cca_data
from vatex_jax.experiments.cca_outputs import annotation_faults
from vatex_jax.metrics import ranking
from vatex_jax.reports import cells, item_statistics, results, tables
from vatex_jax.text.sentences import tokenize
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
DUMMY_DATA = Path(visdial_dataset_builder.__file__).parent / "dummy_data"


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
    statistics = item_statistics.RANKING.read(tmp_path / "run")
    assert len(statistics) == 8
    for name in ("mr", "ndcg"):
        assert ranking.mean_of_sums(ranking.sums_of(statistics, name).sum(axis=0)) == pytest.approx(metrics[name])
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


def test_a_model_is_not_used_with_other_vectors_than_it_was_fitted_on(tmp_path):
    words = ["the", "is", "yes", "no", "what", "color", "<odd>"]
    config, path, rng = small(), tmp_path / "vectors.txt", np.random.default_rng(0)
    config.vectors.source = str(path)

    def write_vectors():
        rows = (f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=4))}" for word in words)
        path.write_text("\n".join(rows) + "\n")

    write_vectors()
    cca.run(config, tmp_path / "run", "train_and_evaluate")
    cca.run(config, tmp_path / "run", "evaluate")
    write_vectors()
    with pytest.raises(CheckpointError, match="not those that the model there was fitted with"):
        cca.run(config, tmp_path / "run", "evaluate")


def test_a_run_cut_short_leaves_no_model_to_another(tmp_path, monkeypatch):
    def killed(*arguments):
        raise KeyboardInterrupt

    for number, place in enumerate(("generate", "signature")):
        with monkeypatch.context() as patch:
            patch.setattr(cca.outputs, place, killed)
            with pytest.raises(KeyboardInterrupt):
                cca.run(small(), tmp_path / f"run{number}", "train_and_evaluate")
        assert (tmp_path / f"run{number}" / "cca.npz").exists()
        other = small()
        other.cca.k = 4
        with monkeypatch.context() as patch:
            patch.setattr(cca.rankers, "fit_cca", killed)
            with pytest.raises(KeyboardInterrupt):
                cca.run(other, tmp_path / f"run{number}", "train_and_evaluate")
        with pytest.raises(DataError, match="cannot be read"):
            cca.run(other, tmp_path / f"run{number}", "evaluate")


def test_a_model_is_not_used_by_a_run_of_other_settings_that_was_cut_short(tmp_path, monkeypatch):
    def killed(*arguments, **named):
        raise KeyboardInterrupt

    other = small()
    other.cca.k = 4
    for config, module, place in ((small(), cca.outputs, "generate"), (other, cca, "load_cca_data")):
        with monkeypatch.context() as patch:
            patch.setattr(module, place, killed)
            with pytest.raises(KeyboardInterrupt):
                cca.run(config, tmp_path / "run", "train_and_evaluate")
    with pytest.raises(CheckpointError, match="settings are not those that the model there was fitted with"):
        cca.run(other, tmp_path / "run", "evaluate")


def test_vectors_that_are_not_there_leave_no_folder(tmp_path):
    config = small()
    config.vectors.source = str(tmp_path / "wiki.en.bin")
    with pytest.raises(ConfigError, match="no such file"):
        cca.run(config, tmp_path / "run", "train_and_evaluate")
    assert not list(tmp_path.iterdir())


def test_learned_vectors_on_real_data_are_not_taken_for_the_papers(tmp_path):
    build("visdial", manual_dir=DUMMY_DATA, data_dir=tmp_path, report=lambda line: None)
    config, said = small("none"), []
    config.vectors.dimension = 3
    config.data.update({"name": "visdial/v1.0", "data_dir": str(tmp_path)})
    load_cca_data(config, said.append, judged=True)
    assert any("note: word vectors of 3 numbers are learned" in line for line in said)
    said.clear()
    load_cca_data(small(), said.append, judged=True)
    assert not any(line.startswith("note") for line in said)


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
        ({"seed": -1}, "config.seed is -1"),
        ({"cca": {"p": 5000.0}}, "not finite with p = 5000"),
        ({"cca": {"p": -1.0}}, "config.cca.p is -1.0"),
        ({"cca": {"regularization": -1.0}}, "config.cca.regularization is -1.0"),
        ({"cca": {"normalization": "l1"}}, "must be one of unit, B"),
        ({"vectors": {"smoothing": 0.0}}, "config.vectors.smoothing is 0.0"),
        ({"vectors": {"special": "own"}}, "not 'own'"),
        ({"vectors": {"max_tokens": 0}}, "config.vectors.max_tokens is 0"),
        ({"generation": {"replacement": False, "generations": 11}}, "at most config.generation.neighbours, 10"),
        ({"data": {"image_features": "vgg"}}, "one of resnet34, vgg16, vgg19"),
        ({"data": {"test_split": "train"}}, "train is what is fitted"),
        ({"generation": {"negative": "abs"}}, "config.generation.negative is 'abs'"),
        ({"generation": {"generations": -1}}, "generations is -1"),
        ({"variant": "none"}, "only CCA-AQ generates"),
        ({"vectors": {"source": ""}}, "config.vectors.source is empty"),
        ({"vectors": {"source": "lerned"}}, "is 'lerned', .* no such file.*wiki.en.bin.*glove-6b-50d .*or learned"),
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
    assert (
        "parameters: 115,920" in capsys.readouterr().out
    )  # 240 eigenvalues, two views of 240 x 240 weights, 240 means
    for spec in ("paper", "aqi"):
        cca.run(configs.get_config(spec), Path("/nowhere"), "describe")
        assert "which the vectors and features decide" in capsys.readouterr().out
    cca.run(configs.get_config("nn_aq"), Path("/nowhere"), "describe")
    assert "parameters: 0" in capsys.readouterr().out


def test_the_result_says_what_its_scores_come_from(tmp_path, capsys):
    config = small()
    config.cca.k = 300
    signature = cca.run(config, tmp_path / "run", "train_and_evaluate")["signature"]
    assert "note: CCA: k is 300, but a view has 8 columns: k is 8 now." in capsys.readouterr().out.splitlines()
    assert signature["model/cca"] == "k 8, p 1, regularization 0.001, unit"
    assert signature["model/trained on"] == "all rounds of train, each question with its ground truth"
    assert signature["model/vectors"] == "ppmi-svd:d8-w5-s0.75"
    assert signature["model/generations"] == "of 10 neighbours, with replacement, negative: zero"


def test_all_rows_make_one_table(tmp_path):
    for variant in configs.VARIANTS:
        cca.run(small(variant), tmp_path / variant, "train_and_evaluate")
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    shown = cells.shown_rows(table, block)
    assert len(shown) == len(configs.VARIANTS)
    assert all(len(block.cells[row.label, column.label]) == 1 for row in shown for column in table.columns)
    text = tables.render(table, [block], "text")
    assert "missing" not in text
    assert "cut at the number of relevances above 0" in text


def test_warnings_of_others_stay_warnings(capsys):
    def work():
        for _ in range(2):  # also what an earlier run has told
            with cca.warnings_as_notes():
                for _ in range(2):  # two models of a run
                    warnings.warn("few words", stacklevel=1)
        with cca.warnings_as_notes():
            warnings.warn("old", DeprecationWarning, stacklevel=1)

    with pytest.warns(DeprecationWarning, match="old"):
        work()
    assert capsys.readouterr().out.splitlines() == ["note: few words"] * 2


def test_describes_count_is_the_models(tmp_path):
    assert cca.run(small(), tmp_path / "run", "train_and_evaluate")["parameters"] == cca.parameters(small())


def test_a_table_of_real_data_without_images_stops_before_its_first_run(tmp_path):
    """As users run it: nothing is left, and the variant that the error names plans the other rows alone."""
    environ = os.environ | {"VATEX_JAX_DATA": str(tmp_path / "tfds")}
    build("visdial", manual_dir=DUMMY_DATA, data_dir=tmp_path / "tfds", report=lambda line: None)

    def table(spec: str, *flags: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(ROOT / "run_experiment.py"), f"--config={ROOT}/configs/tables/{spec}", *flags]
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    for spec, *flags in (
        ("visdial_table5.py", "--config.run.data.name=visdial/v1.0"),
        ("visdial_table5.py:v1.0", "--config.run.vectors.source=learned"),
    ):
        done = table(spec, *flags)
        assert done.returncode == 2
        assert "aqi, nn_aqi: visdial/v1.0 was built without image features" in done.stderr
        assert "visdial_table5.py:v1.0-text" in done.stderr
        assert "Traceback" not in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["tfds"]
    done = table("visdial_table5.py:v1.0-text")
    assert "aq, nn_aq, none: config.vectors.source is empty" in done.stderr
    assert "--config.run.FIELD" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tfds"]


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
        validation=None,
        words=WordVectors(Vocabulary.build([], 1), np.zeros((5, 2), np.float32), np.zeros(5, bool), "by hand"),
        questions=np.array([[1.0, 0.0], [0.0, 1.0]], np.float32),
        answers=np.array([[4.0, 0.0], [0.0, 4.0], [6.0, 2.0]], np.float32),
        question_texts=("a", "b"),
        answer_texts=("x", "y", "z"),
        asked={},
        copies={},
        training=Turns(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([0, 1, 2])),
        turns=Turns(np.array([0]), np.array([0]), np.array([0]), np.array([2])),
        options=np.array([[0, 1, 2]]),
        gt_index=np.array([2]),
        question_gaps=0.0,
        answer_gaps=0.0,
        fingerprint="",
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


def paired(seed=0, several=300):
    """Answers, images and questions that have something in common, some of each, and rounds that say which belong."""
    rng = np.random.default_rng(seed)
    answers, questions, images = (rng.normal(size=(n, 3)).astype(np.float32) for n in (40, 30, 100))
    answer, question, dialogue = (rng.integers(0, n, several) for n in (40, 30, 100))
    rows = Turns(np.sort(dialogue), np.zeros(several, int), question, answer)
    images += 0.5 * np.stack([answers[answer[rows.dialogue == one]].sum(axis=0) for one in range(100)])
    data = dataclasses.replace(by_hand(), answers=answers, questions=questions, training=rows)
    split = dialogues([[0.0] * 3] * 100, [0] * 100, [-1] * 100, images=images)
    return dataclasses.replace(data, train=split)


@pytest.mark.parametrize("normalization", ["unit", "B"])
def test_cca_is_fitted_on_each_rounds_own_answer_image_and_question(normalization):
    data = paired()
    config = small()
    config.cca.update({"k": 3, "normalization": normalization, "regularization": 1e-12, "p": 2.0})
    views = [data.answers[data.training.answer], data.train.images[data.training.dialogue],
             data.questions[data.training.question]]  # fmt: skip
    for variant, expected in (("aq", fit(views[::2], 3, normalization=normalization)),
                              ("aqi", fit(views, 3, normalization=normalization))):  # fmt: skip
        config.variant = variant
        model, _ = rankers.fit_cca(config, data)
        last = len(model.means) - 1
        np.testing.assert_allclose(model.eigenvalues, expected.eigenvalues, atol=1e-8)
        ours = rankers.directions(config, data, model)
        wanted = expected.correlate(last, data.questions, 0, data.answers, p=2.0)
        np.testing.assert_allclose(ours.questions @ ours.answers.T, wanted, atol=1e-5)
        assert np.abs(wanted - expected.correlate(last, data.questions, 0, data.answers, p=1.0)).max() > 1e-3


def test_generations_are_answers_of_the_nearest_questions_by_their_own_correlation():
    data = by_hand()
    # Question 0, that of the test, was answered with 0 and 2, question 1 with 1.
    found = rankers.Directions(
        np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]], np.float32)
    )
    data = dataclasses.replace(
        data, training=Turns(np.zeros(3, int), np.arange(3), np.array([1, 0, 0]), np.array([1, 0, 2]))
    )
    config = small()
    config.generation.update({"neighbours": 2, "generations": 50})
    assert set(outputs.generate(config, data, found).ravel()) == {0}  # 2 is correlated with -1, 1 is no neighbour's
    config.generation.neighbours = 3
    drawn = outputs.generate(config, dataclasses.replace(data, turns=repeat(data.turns, 400)), found)
    assert np.mean(drawn == 0) == pytest.approx(1 / 1.6, abs=0.02)
    assert set(drawn.ravel()) == {0, 1}


def repeat(turns, times):
    return Turns(*(np.repeat(column, times) for column in (turns.dialogue, turns.round, turns.question, turns.answer)))


def two_annotated():
    """Two dialogues of two rounds, annotated in different ones; relevances favour the first and the last candidate."""
    split = dialogues([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0, 0], [1, 0])
    turns = Turns(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4, int), np.array([0, 1, 2, 0]))
    data = dataclasses.replace(
        by_hand(), test=split, turns=turns, options=np.tile([[0, 1, 2]], (4, 1)), gt_index=np.array([0, 1, 2, 0])
    )
    scores = np.array([[0, 1, 2], [3, 2, 1], [3, 2, 1], [0, 1, 2]], np.float32)
    return outputs.Output(data, scores, None, None)


def test_relevances_meet_the_round_and_the_dialogue_they_are_of():
    output = two_annotated()
    np.testing.assert_array_equal(output.annotated, [1, 2])
    np.testing.assert_allclose(output.ndcg, [1.0, 0.0])  # m = 1: only the first place counts


def test_intervals_are_over_dialogues_not_over_rounds():
    output = two_annotated()
    found = outputs.metrics(small("nn_aq"), output)
    # Ranks 3, 2 and 3, 3: the means of the dialogues are 2.5 and 3, and no draw of two of them lies outside.
    assert found["mr"] == 2.75
    assert (found["mr_low"], found["mr_high"]) == (2.5, 3.0)
    assert (found["annotated"], found["undefined_ndcg"]) == (2.0, 0.0)


def test_candidate_sets_are_around_the_ground_truth():
    data = two_annotated().data
    found = rankers.Directions(np.eye(2, dtype=np.float32), np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32))
    sets = outputs.candidate_sets(data, found)
    # With two others of correlation a > b the standard deviation is (a - b) / sqrt 2 < a - b: the nearer one is in.
    np.testing.assert_array_equal(sets.size, [2, 2, 2, 2])
    np.testing.assert_allclose(sets.correlation, [0.9, 0.9, 0.8, 0.9], atol=1e-6)


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


@pytest.mark.real
def test_on_real_files_predict_writes_the_hidden_test_split_beside_the_scored_one(tmp_path, real_data):
    data_dir = str(tmp_path / "data")
    build("visdial", manual_dir=real_data / "visdial", data_dir=data_dir, report=lambda line: None)
    config = small("none")
    config.data.update({"name": "visdial/v1.0", "data_dir": data_dir})
    result = cca.run(config, tmp_path / "run", "train_and_evaluate")
    assert (result["dataset"]["split"], result["metrics"]["questions"]) == ("validation", 960)
    scored = (tmp_path / "run" / "predictions.jsonl").read_bytes()
    cca.run(config, tmp_path / "run", "predict")
    assert (tmp_path / "run" / "predictions.jsonl").read_bytes() == scored
    assert len(read_ranks(tmp_path / "run" / "decoded" / "test_split=test" / "ranks.json").ranks) == 50
