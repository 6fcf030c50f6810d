"""The benchmark does not rot: its rows and peers are whole, its arithmetic and its page are right. Nothing is timed."""

import ast
import itertools
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.speed import __main__ as command
from tests.speed import peers, report, rounds, rows
from tests.speed.bench import Bench, Row, agree
from tests.speed.peers import HERE, Missing, Peer
from tests.speed.rows import lowering, memory, tuned


class TestRows:
    @pytest.mark.parametrize("name", rows.names())
    def test_every_row_has_a_title_and_runs(self, name):
        module = rows.get(name)
        assert module.TITLE and module.__doc__ and callable(module.run)

    def test_rows_come_in_the_order_of_the_table(self):
        assert rows.names() == list(rows.ORDER)

    def test_an_unknown_row_is_refused_by_name(self, capsys):
        with pytest.raises(SystemExit):
            command.main(["matmull"])
        assert "no row matmull; there are lowering, compile, matmul" in capsys.readouterr().err

    def test_the_matmul_of_the_table_has_ten_primitives_and_is_right(self):
        s, args = lowering.ten_primitives(64)
        assert len(s.trace) == 10
        assert lowering.prefixes(s, args)[-1] == lowering.text(s, args)

    def test_memory_needs_no_clock(self):
        row = Row("memory")
        memory.run(Bench({}, 1, print), row)
        assert [c.met for c in row.checks] == [True] and len(row.lines) == len(memory.kernels())


class TestRounds:
    def test_a_ratio_is_taken_within_each_round(self):
        times = {"ours": [1.0, 2.0, 4.0], "peer": [2.0, 4.0, 8.0]}
        assert str(rounds.ratio(times, "ours", "peer")) == "2.00 [2.00, 2.00]"

    def test_who_is_disturbed_is_timed_again(self):
        shares = itertools.cycle([0.5, 1.0])

        def contestant(n: int) -> tuple[float, float]:
            share = next(shares)
            return 1.0 / share, 1.0

        assert rounds.interleaved({"a": contestant}, rounds=3, block=0.001) == {"a": [1.0, 1.0, 1.0]}

    def test_of_nothing_but_disturbed_blocks_the_best_counts(self):
        shares = itertools.cycle([0.25, 0.5, 0.2])
        contestant = lambda n: (2.0, 2.0 * next(shares))
        assert rounds.interleaved({"a": contestant}, rounds=2, block=0.001) == {"a": [2.0, 2.0]}

    def test_geometric_mean(self):
        assert rounds.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)

    def test_wrong_results_are_not_timed(self):
        with pytest.raises(AssertionError, match="llvm's product is wrong: relative error 1"):
            agree("llvm's product", np.zeros(3, "float32"), np.ones(3, "float32"))


class TestPeers:
    @pytest.mark.parametrize("path", sorted(HERE.glob("*_peer.py")), ids=lambda p: p.name)
    def test_a_peer_parses_and_pins_its_version(self, path):
        ast.parse(path.read_text())
        assert "==" in path.with_name(path.name.replace("_peer.py", ".txt")).read_text()

    def test_a_peer_runs_answers_and_fails_as_a_process(self, monkeypatch, tmp_path):
        shutil.copy(HERE / "serve.py", tmp_path)
        (tmp_path / "double.txt").write_text("numpy==2\n")
        (tmp_path / "double_peer.py").write_text(
            "from serve import serve\n"
            "print('chatter')\n"
            "serve(lambda request, arrays: (lambda: arrays[0], lambda: arrays[0] * request['by'], {'trials': 7}))\n"
        )
        monkeypatch.setattr(peers, "HERE", tmp_path)
        monkeypatch.setenv("TVMLAB_PEER_DOUBLE", sys.executable)
        peer = Peer("double")
        try:
            assert peer.prepare("x", [np.arange(3)], by=3).tolist() == [0, 3, 6] and peer.said == {"trials": 7}
            wall, cpu = peer.timer("x")(2)
            assert wall > 0 and cpu >= 0
            with pytest.raises(Missing, match="double failed:(.|\n)*KeyError: 'by'"):
                peer.prepare("y", [np.arange(3)])
        finally:
            peer.close()

    def test_a_peer_that_is_not_there_is_reported_once(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TVMLAB_PEER_TORCH", str(tmp_path / "bin" / "python"))
        with pytest.raises(Missing, match="torch is not installed"):
            Peer("torch")
        said = []
        bench = Bench({}, 1, said.append)
        assert bench.peer("torch") is None and bench.peer("torch") is None and len(said) == 1


    def test_one_that_finds_nothing_or_something_wrong_is_reported_and_the_rest_goes_on(self):
        said = []
        bench, shape = Bench({}, 1, said.append), {"m": 4, "n": 4, "k": 4}

        def prepare(name, inputs, **request):
            if name == "first":
                raise Missing("nothing was found")
            return inputs[0] @ inputs[1] * (name == "third")

        bench.peers["tvm"] = SimpleNamespace(prepare=prepare, said={"valid": 1})
        found = [tuned.asked(bench, name, "matmul", shape, 1) for name in ("first", "second", "third")]
        assert found == [{}, {}, {"valid": 1}]
        assert "nothing was found" in said[0] and "second is wrong" in said[1] and len(said) == 2


def test_the_page_has_summary_details_and_machine():
    row = Row("call", "Calls", ("what", "ns"), others=0.25, date="today")
    row.line("module", 900)
    row.check("call", "under 5 us", "0.90 us", True)
    text = report.page({"cpu": "one", "peer torch": "torch 2"}, [row])
    assert "| call | under 5 us | 0.90 us | yes |" in text
    assert "## Calls\n\n| what | ns |\n| --- | --- |\n| module | 900 |\n\nMeasured today; others used 25 %" in text
    assert "| peer torch | torch 2 |" in text


def test_a_row_measured_again_replaces_itself_only(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RAW", tmp_path / "build" / "speed.json")
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")

    def measured(name, text):
        row = Row(name, name.title())
        row.check(name, "fast", text, True)
        return row

    report.save({"cpu": "one"}, [measured("call", "old")], ["call", "memory"])
    assert not report.PAGE.exists()  # there are rows that nobody has measured yet
    report.save({"cpu": "one"}, [measured("memory", "small")], ["call", "memory"])
    report.save({"cpu": "one"}, [measured("call", "new")], ["call", "memory"])
    page = report.PAGE.read_text()
    assert "| call | fast | new | yes |\n| memory | fast | small | yes |" in page
    report.PAGE.unlink()
    report.save({"cpu": "another"}, [measured("call", "new")], ["call", "memory"])
    assert not report.PAGE.exists()  # numbers of two machines are not put together
