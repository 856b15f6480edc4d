"""The dialogue in the terminal: through a pseudo-terminal, a pipe, and interruptions."""

import io
import json
import random
import re
import sys
import time

import numpy as np
import pytest

from sidelight import Constraints
from sidelight.active import Answers
from sidelight.io import read_labels

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from tests.cli.terminal import Terminal

ASKED = re.compile(r"Question \d+.*?\n\s*\n +(\S+) +(\S+) *\n", re.DOTALL)
TRUTH = {f"p{i}": "fruit" if i % 3 == 0 else "stone" if i % 3 == 1 else "nut" for i in range(30)}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Thirty rows of three kinds, with a remark that is no feature."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(0)
    lines = ["id,size,weight,remark"]
    for name, kind in TRUTH.items():
        place = {"fruit": 0, "stone": 4, "nut": 8}[kind]
        lines.append(f"{name},{rng.normal(place, 1.5):.3f},{rng.normal(place, 1.5):.3f},a {kind}")
    (tmp_path / "things.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


ASK = ("ask", "things.csv", "-k", 3, "--drop", "remark")


def honest(pair: tuple[str, str]) -> str:
    return "s" if TRUTH[pair[0]] == TRUTH[pair[1]] else "d"


def last_pair(text: str) -> tuple[str, str]:
    return ASKED.findall(text)[-1]


@pytest.fixture
def piped(run, monkeypatch, table):
    """Run the dialogue with lines from a pipe."""

    def piped(lines, *arguments):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return run(*ASK, *arguments)

    return piped


def kept() -> list[tuple[str, str, bool | None]]:
    """What the file of answers says."""
    with Answers.open("things.answers.jsonl", list(TRUTH)) as answers:
        name = answers.known.id_of
        return [(name(e.i), name(e.j), e.same) for e in answers if not e.inferred]


# ------------------------------------------------------------------ at the terminal


def test_a_whole_dialogue_at_the_terminal(table):
    terminal = Terminal(*ASK, "-o", "labels.csv", "--report", "report.html")
    expected = []
    for number in range(1, 7):
        terminal.wait_for(rf"Question {number}\n")
        terminal.wait_for(r"belong together\? ")
        pair = last_pair(terminal.text)
        answer = honest(pair)
        word = {"s": "y", "d": "no"}[answer] if number % 2 else answer
        terminal.type(f"{word}\n")
        expected.append((*pair, answer == "s"))
        terminal.wait_for(rf"{number} answers? \(\d+ same, \d+ different\), 0 skipped; \d+ quest")
        assert kept_while_running() == number  # on the disk before it is acknowledged
    terminal.answer("k")
    terminal.wait_for("1 skipped")
    terminal.answer("u")
    terminal.wait_for("Undone: .*, skipped. 6 answers")
    terminal.answer("undo")
    terminal.wait_for("Undone: .* 5 answers")
    terminal.wait_for(r"belong together\? ")
    assert last_pair(terminal.text) == expected[-1][:2]  # it asks again what was undone
    terminal.type("different\n" if expected[-1][2] is False else "same\n")
    terminal.answer("quit")
    assert terminal.end() == 0, terminal.text
    assert kept() == expected
    known = Constraints.read("things.answers.constraints.csv", ids=list(TRUTH))
    assert known.n_pairs >= 6
    ids, labels = read_labels("labels.csv")
    assert ids.tolist() == list(TRUTH)
    assert len(set(labels.tolist())) == 3
    assert "things.answers.constraints.csv" in (table / "report.html").read_text()
    assert "Traceback" not in terminal.text


def kept_while_running() -> int:
    """Answers in the file, read without asking for the lock."""
    with open("things.answers.jsonl", encoding="utf-8") as file:
        return sum(json.loads(line)["do"] == "answer" for line in file.readlines()[1:])


def test_killed_at_random_moments_nothing_given_is_lost(table):
    chance = random.Random(0)
    given: list[tuple[str, str, bool | None]] = []
    for life in range(4):
        terminal = Terminal(*ASK)
        acknowledged = len(given)
        sent = list(given)
        for _ in range(chance.randint(2, 7)):
            terminal.wait_for(r"Question \d+")
            terminal.wait_for(r"belong together\? ")
            pair = last_pair(terminal.text)
            answer = honest(pair)
            sent.append((*pair, answer == "s"))
            terminal.type(f"{answer}\n")
            if chance.random() < 0.3:
                break  # killed without waiting for the acknowledgement
            terminal.wait_for(rf"✓ .* {len(sent)} answers? ")
            acknowledged = len(sent)
        time.sleep(chance.choice([0, 0, 0.001, 0.005, 0.02]))
        terminal.kill()
        assert terminal.status == -9
        found = kept()
        assert found == sent[: len(found)], life
        assert len(found) >= acknowledged, life
        given = found
    assert len(given) >= 5
    terminal = Terminal(*ASK)
    terminal.wait_for(rf"kept at once.*\({len(given)} answers")
    terminal.answer("q")
    assert terminal.end() == 0


def test_ctrl_c_is_quit_with_nothing_lost(table):
    terminal = Terminal(*ASK, "-o", "labels.csv")
    for _ in range(3):
        terminal.wait_for(r"belong together\? ")
        terminal.type(f"{honest(last_pair(terminal.text))}\n")
    terminal.wait_for("3 answers")
    terminal.wait_for(r"\[h\]elp: ")
    terminal.type("\x03")
    assert terminal.end() == 0, terminal.text
    assert len(kept()) == 3
    assert (table / "labels.csv").exists()


HEARD_BY_ANOTHER_THREAD = """
import signal, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
from sidelight.cli import main
main()
"""


def test_ctrl_c_is_heard_when_it_does_not_end_the_wait_for_a_line(table):
    # As when it comes between the prompt and the wait: the read goes on, and nobody looks.
    terminal = Terminal(*ASK, "-o", "labels.csv", program=("-c", HEARD_BY_ANOTHER_THREAD))
    terminal.answer("s p0 p3")
    terminal.wait_for("1 answer")
    terminal.wait_for(r"\[h\]elp: ")
    terminal.type("\x03")
    assert terminal.end() == 0, terminal.text
    assert (table / "labels.csv").exists()


def test_a_contradiction_is_shown_with_its_chain_and_refused(table):
    terminal = Terminal(*ASK, "--strategy", "random")
    terminal.answer("s p0 p3")
    terminal.answer("s p3 p6")
    terminal.answer("d p0 p6")
    terminal.wait_for(r"A contradiction: 'p0' and 'p6' cannot be different, since")
    terminal.wait_for(
        r"'p0' is the same as 'p3' \(answer 1\)\s+'p3' is the same as 'p6' \(answer 2\)"
    )
    terminal.wait_for("Not taken. .*u undoes the last answer")
    terminal.answer("u")
    terminal.wait_for("Undone: 'p3' and 'p6', same. 1 answer ")
    terminal.answer("d p0 p6")
    terminal.wait_for("✓ 'p0' and 'p6': different. 2 answers")
    terminal.answer("s p6 p3")
    terminal.wait_for("'p6' is different from 'p0' \\(answer 2\\)")
    terminal.answer("q")
    assert terminal.end() == 0
    assert kept() == [("p0", "p3", True), ("p0", "p6", False)]
    # What differs stands out, in bold red from one σ on; no feature, but it helps to decide:
    assert re.search(r"\x1b\[1;31m *\S+.*≠ \d\.\d σ", terminal.raw)
    assert re.search(r"size .*≠ \d\.\d σ", terminal.text)
    assert "remark" in terminal.text


# ------------------------------------------------------------------ through a pipe


def test_a_pipe_is_read_to_its_end(piped):
    ended = piped(["s p0 p3", "k", "", "nonsense", "d p0 p99", "s p0", "s 'p0", "h", "d p0 p1"])
    assert ended.code == 0, ended.err
    assert "'nonsense' was not understood" in ended.out
    assert "There is no row called p99" in ended.out
    assert kept()[0] == ("p0", "p3", True)
    assert kept()[-1] == ("p0", "p1", False)
    assert "PCKMeans on things.csv" in ended.out


def test_json_has_the_answers_and_the_clusters(piped):
    ended = piped(["s p0 p3", "d p0 p1", "u", "u", "u", "k"], "--json")
    assert ended.code == 0
    facts = ended.json
    assert facts["command"] == "ask"
    assert facts["answers"]["ended"] == "quit"
    assert [facts["answers"][name] for name in ("same", "different", "skipped")] == [0, 0, 1]
    assert len(facts["labels"]) == 30
    assert "There is nothing to undo" in ended.err  # the dialogue leaves standard output alone


@pytest.mark.parametrize("strategy", ["explore-consolidate", "min-max", "npu", "cobras", "random"])
def test_every_strategy_asks_until_its_budget(piped, strategy):
    lines = ["k"] * 4 + ["d"] * 20
    ended = piped(lines, "--strategy", strategy, "--questions", 6, "--json", "--scale", "range")
    assert ended.code == 0, ended.err
    assert (ended.json["answers"]["asked"], ended.json["answers"]["ended"]) == (6, "budget")
    assert ended.json["answers"]["skipped"] == 4


def test_it_ends_by_itself_when_nothing_is_left_to_ask(piped):
    ended = piped(["s"] * 100, "--json")
    assert ended.json["answers"]["ended"] == "nothing left to ask"
    assert ended.json["answers"]["same"] == 29
    assert ended.json["answers"]["saved"] == 30 * 29 // 2 - 29


def test_answers_are_continued_and_come_back_as_constraints(piped, run):
    piped(["s p0 p3", "d p3 p1"], "--answers", "mine.jsonl")
    again = piped(["d p0 p1", "s p0 p1", "s p1 p4"], "--answers", "mine.jsonl", "--json").json
    assert (again["answers"]["same"], again["answers"]["different"]) == (2, 2)
    assert again["answers"]["asked"] == 2
    plain = run(
        *("cluster", "things.csv", "-k", 3, "--drop", "remark", "--json"),
        *("-m", "pckmeans", "-c", "mine.constraints.csv"),
    )
    assert plain.json["labels"] == again["labels"]
    assert plain.json["violations"] == again["violations"]


def test_what_is_known_beforehand_is_not_asked(piped):
    names = list(TRUTH)
    Constraints(labels=[TRUTH[name] for name in names], ids=names).write("known.csv")
    ended = piped(["s"] * 5, "--constraints", "known.csv", "--json")
    assert ended.json["answers"]["asked"] == 0
    assert ended.json["answers"]["ended"] == "nothing left to ask"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--strategy", "best"], 2, "no strategy 'best'"),
        (["--questions", -1], 2, "--questions"),
        (["-o", "nowhere/labels.csv"], 1, "does not exist"),
        (["--report", "report.pdf"], 1, "should end in .html"),
        (["--answers", "things.csv"], 2, "things.csv"),
        (["--method", "magic"], 1, "no method 'magic'"),
    ],
)
def test_mistakes_are_explained_before_the_first_question(piped, table, arguments, code, words):
    before = (table / "things.csv").read_bytes()
    ended = piped(["s"], *arguments)
    assert (ended.code, "Question" in ended.out) == (code, False)
    assert words in ended.err
    assert (table / "things.csv").read_bytes() == before


def test_rows_without_ids_and_many_features(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 30))
    X[:, 0] = 1.0
    np.save("rows.npy", X)
    monkeypatch.setattr("sys.stdin", io.StringIO("s 0 7\nd x 3\nq\n"))
    ended = run("ask", "rows.npy", "-k", 2)
    assert ended.code == 0, ended.err
    assert "and 10 features that differ less" in ended.out
    told, questions = ended.out.split("rows.npy: 40 rows", 1)
    assert re.search(r"x0 +set aside +always the same \(1\)", told)
    assert not re.search(r"\bx0\b", questions)  # the same in all rows: the first to go
    assert "There is no row called x" in ended.out
    assert "row 0 and row 7: same" in ended.out


def test_sparse_rows_are_shown(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.libsvm").write_text("1 1:2 3:1\n0 2:1\n1 1:1 3:2\n0 2:2\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("d\nd\nq\n"))
    ended = run("ask", "rows.libsvm", "-k", 2)
    assert ended.code == 0, ended.err
    assert "≠" in ended.out
