"""Corpus analysis as a command: files, figures, the filter, several corpora, the table, and what is refused."""

import json

import pytest

from configs import corpus as corpus_config
from vatex_jax.errors import CheckpointError, ConfigError, DataError
from vatex_jax.experiments import corpus
from vatex_jax.reports import results, tables

LONG = "A young man in a red shirt is throwing a ball to his dog number {}."
CHINESE = "一个穿着红色上衣的年轻男人正在公园里把球扔给他的{}号小狗。"


def write_corpus(path, videos=3, name="a"):
    records = [
        {"videoID": f"{name}{v}", "enCap": [LONG.format(10 * v + i) for i in range(6)],
         "chCap": [CHINESE.format(10 * v + i) for i in range(6)]}
        for v in range(videos)
    ]  # fmt: skip
    records[0]["enCap"][0] = "Too short."
    if videos > 1:
        records[1]["enCap"][5] = "Too short as well."
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def config_for(*paths, **fields):
    config = corpus_config.get_config()
    config.corpora = ",".join(f"{path.stem}={path}" for path in paths)
    config.tags = False
    config.update_from_flattened_dict(fields)
    return config


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "data"))
    return tmp_path


def test_one_corpus_leaves_its_files_in_the_work_folder(environment, capsys):
    mine = write_corpus(environment / "mine.json")
    result = corpus.run(config_for(mine), environment / "run", "train_and_evaluate")
    assert results.read(environment / "run" / "results.json")["metrics"] == result["metrics"]
    assert result["metrics"]["en/videos"] == 3
    assert result["metrics"]["zh/captions"] == 18
    assert result["metrics"]["en/rejected"] == pytest.approx(100 * 2 / 18)
    assert result["dataset"] | {"fingerprint": ""} == {
        "name": "mine", "version": "files", "split": "all", "sizes": {"mine": 3}, "fingerprint": "", "simulated": False,
        "stand_in": False,
    }  # fmt: skip
    rejected = [json.loads(line) for line in (environment / "run" / "rejected.jsonl").read_text().splitlines()]
    assert [(one["video_id"], one["number"], one["rule"]) for one in rejected] == [
        ("a0", 0, "short"),
        ("a1", 5, "short"),
    ]
    assert {path.name for path in (environment / "run" / "figures").iterdir()} == {"histograms.png", "type_caption.png"}
    said = capsys.readouterr().out
    assert "English: 2 of 18 captions rejected (11.1%): short 2" in said
    assert "VaTeX-en" in said
    assert "15.23" in said


def test_the_filter_writes_what_is_left_in_vatex_s_layout(environment):
    mine = write_corpus(environment / "mine.json")
    corpus.run(config_for(mine, **{"quality.filter": True}), environment / "run", "train_and_evaluate")
    (path,) = (environment / "run" / "filtered").glob("*_filtered.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [one["videoID"] for one in kept] == ["a0", "a2"]  # a1's last pair would shift
    assert len(kept[0]["enCap"]) == 5
    assert len(kept[0]["chCap"]) == 6
    assert json.loads((environment / "run" / "corpus.json").read_text())["videos_left_out"] == 1
    again = corpus.run(config_for(path), environment / "again", "train_and_evaluate")
    assert again["metrics"]["en/rejected"] == 0


def test_several_corpora_have_a_folder_each_and_one_picture_and_fill_the_table(environment, capsys):
    paths = write_corpus(environment / "vatex.json"), write_corpus(environment / "other.json", 1, "b")
    corpus.run(config_for(*paths, tags=True), environment / "run", "train_and_evaluate")
    assert sorted(path.name for path in (environment / "run").iterdir() if path.is_dir()) == [
        "figures",
        "other",
        "vatex",
    ]
    capsys.readouterr()
    assert tables.main([str(environment / "run"), "--table=vatex_table3"]) == 0
    said = capsys.readouterr().out
    blocks = {block.split()[0]: block for block in said.split("Data: ")[1:]}
    assert "The paper's VaTeX-en (VaTeX): words 15.23" in blocks["other"]
    assert "The paper's" not in blocks["vatex"].partition("Ours:")[0]
    assert "15.23" in blocks["vatex"]  # beside ours
    assert "en:spacy" in said


def test_the_simulated_world_is_the_default_and_is_labelled(environment, capsys):
    config = corpus_config.get_config()
    config.data.name = "vatex_sim/tiny"
    config.tags = False
    result = corpus.run(config, environment / "run", "train_and_evaluate")
    assert result["dataset"]["simulated"]
    assert result["metrics"]["en/captions_per_video"] == 10
    assert "SIMULATED" in capsys.readouterr().out


def test_what_a_name_or_path_may_not_be(environment):
    mine = write_corpus(environment / "mine.json")
    for corpora, message in (
        ("mine", "must be NAME=PATH"), (f"a={mine},a={mine}", "each name once"), (f"../x={mine}", "must be NAME=PATH"),
        ("figures=x", "must be NAME=PATH"), ("config.json=x", "not that of a file"),
        ("filtered=x", "not that of a file"), ("a=", "must be NAME=PATH"),
    ):  # fmt: skip
        config = config_for()
        config.corpora = corpora
        with pytest.raises(ConfigError, match=message):
            corpus.run(config, environment / "run", "train_and_evaluate")
    assert not (environment / "run").exists()
    config = config_for()
    config.corpora = f"a={environment / 'none.json'}"
    with pytest.raises(DataError, match="no such file or folder"):
        corpus.run(config, environment / "run", "train_and_evaluate")
    with pytest.raises(ConfigError, match="has no meaning"):
        corpus.run(config, environment / "run", "predict")


def test_a_fault_in_the_middle_leaves_no_result_and_no_half_file(environment):
    path = write_corpus(environment / "mine.json")
    records = json.loads(path.read_text())
    records.append({"videoID": "bad", "enCap": "no list"})
    path.write_text(json.dumps(records))
    with pytest.raises(DataError, match=r"record 4 .*field enCap"):
        corpus.run(config_for(path, **{"quality.filter": True}), environment / "run", "train_and_evaluate")
    left = {item.name for item in (environment / "run").rglob("*") if item.is_file()}
    assert not left - {"config.json", ".lock"} or all("json" in name and "results" not in name for name in left)
    assert "results.json" not in left
    assert "rejected.jsonl" not in left


def test_another_configuration_is_refused_and_describe_needs_no_data(environment, capsys):
    mine = write_corpus(environment / "mine.json")
    corpus.run(config_for(mine), environment / "run", "train_and_evaluate")
    with pytest.raises(CheckpointError, match="another configuration"):
        corpus.run(config_for(mine, **{"quality.min_english_words": 2}), environment / "run", "train_and_evaluate")
    assert corpus.run(corpus_config.get_config("paper"), environment / "none", "describe") is None
    assert "vatex/none" in capsys.readouterr().out


@pytest.mark.real
def test_the_real_corpora_have_their_known_figures(real_data, environment):
    config = config_for(real_data / "flickr8kcn_as_vatex", real_data / "mtvr_as_vatex")
    corpus.run(config, environment / "run", "train_and_evaluate")
    found = {
        name: results.read(environment / "run" / name / "results.json")["metrics"]
        for name in ("flickr8kcn_as_vatex", "mtvr_as_vatex")
    }
    assert found["flickr8kcn_as_vatex"]["en/captions"] == 40_000
    assert found["flickr8kcn_as_vatex"]["zh/captions"] == 80_000
    assert found["mtvr_as_vatex"]["en/length"] == pytest.approx(12.30, abs=0.005)
    assert found["mtvr_as_vatex"]["zh/unique_4gram"] == 78_302


def test_filtered_files_of_an_earlier_reading_go_and_simulated_ones_stay_simulated(environment, capsys):
    config = corpus_config.get_config()
    config.data.name = "vatex_sim/tiny"
    config.tags = config.eval.figures = False
    config.quality.filter = True
    config.quality.min_english_words = 3
    filtered = environment / "run" / "filtered"
    corpus.run(config, environment / "run", "train_and_evaluate")
    assert len(list(filtered.glob("*_filtered.json"))) == 3
    (filtered / "vatex_old_filtered.json").write_text("[]")
    corpus.run(config, environment / "run", "train_and_evaluate")
    assert not (filtered / "vatex_old_filtered.json").exists()
    of_files = config_for()
    of_files.corpora = f"again={filtered}"
    again = corpus.run(of_files, environment / "again", "train_and_evaluate")
    assert again["dataset"]["simulated"]
    assert again["dataset"]["sizes"] == {"train": 24, "validation": 8, "public_test": 8}
    capsys.readouterr()
    config.quality.min_english_words = config.quality.min_chinese_characters = 99
    corpus.run(config, environment / "none", "train_and_evaluate")
    assert "no video is left, so there is no file" in capsys.readouterr().out


def test_a_damaged_compressed_corpus_is_told(environment):
    import gzip

    path = environment / "mine.json.gz"
    path.write_bytes(gzip.compress(b'{"sentences": [{"video_id": "a", "caption": "x"}]}'))
    config = config_for()
    config.corpora = f"mine={path}"
    assert corpus.run(config, environment / "run", "train_and_evaluate")["metrics"]["en/captions"] == 1
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match=r"damaged or cut short|cannot be read"):
        corpus.run(config, environment / "run2", "train_and_evaluate")
