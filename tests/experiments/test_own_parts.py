"""Policies and worlds of one's own in comparisons: objects, functions, classes, and those of other packages."""

import dataclasses
import importlib
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import peerfront as pf
from experiments.small import contents
from peerfront.experiments.comparison import Comparison
from peerfront.experiments.comparison_run import Workers, run_comparison
from peerfront.experiments.policies import POLICIES, PolicyEntry
from peerfront.foundation.errors import (
    ComparisonFailed,
    InfeasibleAllocation,
    PolicyFailed,
    SettingError,
    UnknownName,
)
from peerfront.foundation.own_parts import about, digest_of, from_bytes, name_of
from support import Scripted

ASKED = {"draws": 2, "episodes": 10, "discounts": [0.9, 1.0], "budget": 20, "people": 4}
RULES = pf.Rules(20, 4)


def two_each(state):
    """Two each, while they last."""
    return [2 * (2 * n + 2 <= state.spendable) for n in range(len(state.frontier))]


def somebody(state, luck):
    return np.eye(len(state.frontier), dtype=int)[luck.generator("who").integers(len(state.frontier))]


class Richest:
    """Everything to the person who brings the most."""

    def __init__(self, preparation):
        self.response = preparation.planning_world.response

    def allocate(self, state, luck):
        coupons = np.zeros(len(state.frontier), dtype=np.int64)
        coupons[self.response.gains(state.frontier.covariates, 5).sum(axis=1).argmax()] = state.spendable
        return pf.Allocation(coupons)


class Forgetful:
    """Gives one coupon more each time it is asked: what it remembers must not depend on who plays it."""

    name = "forgetful"

    def __init__(self):
        self.asked = 0

    def allocate(self, state, luck):
        self.asked += 1
        return pf.Allocation.of([min(self.asked % 3 + 1, state.spendable), *[0] * (len(state.frontier) - 1)])


class Nameless:
    """A world that only passes questions on."""

    def __getattr__(self, what):
        if what == "name" or what.startswith("__"):
            raise AttributeError(what)
        return getattr(pf.make_world("bridge"), what)


def dense(draw):
    return pf.make_world("icpsr22140:mean_capacity=3", draw)


def faulty(**members):
    return type("Faulty", (Nameless,), members)()


def gone(*_):
    return {}["gone"]


def compared(**more):
    worlds = ["bridge", dense, pf.make_world("boom_bust")]
    policies = ["constant", two_each, somebody, Richest, Forgetful()]
    return pf.compare(worlds, policies, **{**ASKED, **more})


@pytest.fixture(scope="module")
def alone() -> pf.Results:
    return compared()


def test_they_are_compared_by_name_beside_ours(alone) -> None:
    assert alone.policies == ("constant", "two_each", "somebody", "Richest", "forgetful")
    assert alone.worlds == ("bridge", "dense", "boom_bust")
    ours = pf.compare(["bridge", "icpsr22140:mean_capacity=3,name=dense"], ["constant"], **ASKED).episodes
    same = alone.episodes[(alone.episodes["policy"] == "constant") & (alone.episodes["world"] != "boom_bust")]
    dense_too = same["world"] == "dense"  # whose function asks for the draw: it has two, bridge has one
    assert (len(same), dense_too.sum()) == (2 * 10 * 3, 2 * 10 * 2)
    assert same["world"].tolist() == ours["world"].tolist()
    bridge = ~dense_too.to_numpy()
    assert same["recruits"].to_numpy()[bridge].tolist() == ours["recruits"].to_numpy()[bridge].tolist()
    given = pf.compare(["bridge"], [pf.make_policy("constant:coupons=2", "bridge"), "constant:coupons=2"], **ASKED)
    assert set(given.differences["mean"]) == {0.0}


class Cautious:
    """One coupon in a round, as long as it is told what was seen; without a name, as most people write it."""

    learns = True

    def allocate(self, state, luck):
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states, lucks):
        given = [min(1, len(state.seen.coupons) + 1) for state in states]
        return [
            pf.Allocation.of([one] + [0] * (len(state.frontier) - 1)) for one, state in zip(given, states, strict=True)
        ]


def cautious(state):
    assert state.seen is not None
    return [1] + [0] * (len(state.frontier) - 1)


cautious.learns = True


@pytest.mark.parametrize("policy", [Cautious, Cautious(), cautious], ids=["class", "object", "function"])
@pytest.mark.parametrize("workers", [1, 2])
def test_those_that_learn_see_what_was_seen(policy, workers) -> None:
    assert pf.compare(["bridge"], [policy, "constant"], **ASKED, workers=workers).policies[0].lower() == "cautious"


def test_a_name_may_be_missing() -> None:
    world = Nameless()
    played = pf.rollout(world, Cautious(), RULES, pf.named_luck(("no name",), 5))
    assert played.spend.sum(axis=1).max() <= 20
    assert pf.compare([world], [Cautious], models="learned", **{**ASKED, "draws": 1}).worlds == ("Nameless",)


def test_workers_change_nothing(alone) -> None:
    pf.compare(["bridge"], [two_each], **ASKED)
    assert compared(workers=2).episodes.equals(alone.episodes)


def test_nor_does_dask(alone) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        results = run_comparison(alone.comparison, workers=Workers(2, "dask", cluster.scheduler_address))
    assert results.episodes.equals(alone.episodes)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray warns of its own future
def test_nor_does_ray(alone) -> None:
    ray = pytest.importorskip("ray", reason="Ray has no build for this Python")
    try:
        results = run_comparison(alone.comparison, workers=Workers(2, "ray"))
    finally:
        ray.shutdown()
    assert results.episodes.equals(alone.episodes)


def test_registered_names_work_in_several_processes(monkeypatch) -> None:
    entry = PolicyEntry("mine", prepare=lambda preparation: Richest(preparation))
    monkeypatch.setitem(POLICIES, "mine", entry)
    one, two = (pf.compare(["bridge"], ["mine:name=a", "constant"], **ASKED, workers=n) for n in (1, 2))
    assert one.episodes.equals(two.episodes)
    assert one.policies == ("a", "constant")


SCRIPT = """
import sys
from functools import lru_cache
from pathlib import Path
import numpy as np
import peerfront as pf
from numba import njit

LEAST = {least}

@lru_cache
def least():
    return LEAST

@njit
def to_the_first(people, number):
    coupons = np.zeros(people, dtype=np.int64)
    coupons[0] = number
    return coupons

def careful(state):
    return to_the_first(len(state.frontier), min(least(), state.spendable))

if __name__ == "__main__":
    from peerfront.experiments.comparison import Comparison
    from peerfront.experiments.comparison_run import Workers, run_comparison

    asked = Comparison(("bridge",), (careful, "constant"), (0,), (0.9,), 5, pf.Rules(20, 4))
    played = []
    keep = lambda _, what: played.append(what)
    found = run_comparison(asked, Path(sys.argv[1]), workers=Workers(2), resume=True, progress=keep)
    print(len(played) - 1, found.table["mean"].iloc[0])
"""


def test_a_script_resumes_and_a_changed_policy_is_played_again(tmp_path) -> None:
    """Also in processes of their own, where sets have other orders."""

    def run(least: int) -> tuple[str, str]:
        (tmp_path / "script.py").write_text(SCRIPT.format(least=least))
        command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        pieces, mean = done.stdout.split()
        return pieces, mean

    pieces, first = run(1)
    assert pieces == "2"
    assert run(1) == ("0", first)  # nothing is played again
    pieces, second = run(5)
    assert pieces == "1"  # only the policy whose code has changed, and never from what the old one did
    assert first != second
    assert run(1) == ("0", first)


def test_digests_tell_code_and_contents_apart() -> None:
    def made(number):
        return lambda state: [number] * len(state.frontier)

    assert digest_of(made(1)) == digest_of(made(1)) != digest_of(made(2))
    assert (
        digest_of(Scripted(two_each, "a")) == digest_of(Scripted(two_each, "a")) != digest_of(Scripted(two_each, "b"))
    )
    assert digest_of(two_each) != digest_of(somebody)
    world = pf.make_world("network:people=30")
    before = digest_of(world)
    pf.rollout(world, Scripted(two_each), RULES, pf.named_luck(("use",), 3))
    assert digest_of(world) == before  # what it has worked out since is not what it is
    lock = threading.Lock()
    assert digest_of(lock) != digest_of(lock)  # nobody can say: never the same


MODULES = {
    "own_policy": """
import own_folder.inner
import own_helper
NUMBER = 1
def policy(state):
    import own_late
    return own_helper.given() * NUMBER * own_helper.TIMES * own_folder.inner.times()
""",
    "own_folder.inner": "def times():\n    return 1",
    "own_helper": "import own_deeper\nTIMES = 1\ndef given():\n    return own_deeper.given()",
    "own_deeper": "def given():\n    return [1]",
    "own_late": "",
}


@pytest.mark.parametrize("change", [*MODULES, "a value", "a value of a helper"])
def test_digests_see_what_a_policy_uses(change, tmp_path, monkeypatch) -> None:
    def digest() -> str:
        for name in (*MODULES, "own_folder"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return digest_of(importlib.import_module("own_policy").policy)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_folder").mkdir()
    for name, text in MODULES.items():
        (tmp_path / f"{name.replace('.', '/')}.py").write_text(text)
    before = digest()
    assert digest() == before
    policy = importlib.import_module("own_policy")
    if change in MODULES:
        changed = MODULES[change].replace("return 1", "return 2") + "\n#"
        (tmp_path / f"{change.replace('.', '/')}.py").write_text(changed)
        assert digest() != before
    else:
        monkeypatch.setattr(*((policy, "NUMBER", 2) if change == "a value" else (policy.own_helper, "TIMES", 2)))
        assert digest_of(policy.policy) != before
    for name in (*MODULES, "own_folder"):
        sys.modules.pop(name, None)


def test_what_has_gone_on_the_way_is_told() -> None:
    with pytest.raises(SettingError, match="mine cannot be sent to other processes.*No module named 'nowhere'"):
        from_bytes(b"cnowhere\nthing\n.", "mine")


def test_cached_methods_travel_and_count() -> None:
    def made(number):
        class Cached:
            name = "cached"

            @staticmethod
            @lru_cache(maxsize=2)
            def coupons(people):
                return [number, *[0] * (people - 1)]

            def allocate(self, state, luck):
                return pf.Allocation.of(self.coupons(len(state.frontier)))

        return Cached

    results = [pf.compare(["bridge"], [made(1)], **{**ASKED, "draws": 1, "budget": 4}, workers=n) for n in (1, 2)]
    assert results[0].episodes.equals(results[1].episodes)
    assert digest_of(made(1)) == digest_of(made(1)) != digest_of(made(2))


def test_names_are_fit_for_tables_and_files() -> None:
    assert [name_of(each) for each in (two_each, Richest, Forgetful(), lambda: 0, Scripted(None, "a/b:c"))] == [
        "two_each", "Richest", "forgetful", "lambda", "a_b_c",
    ]  # fmt: skip


def test_what_has_no_documentation_is_said_by_its_name() -> None:
    assert about(two_each) == "Two each, while they last."
    assert about(somebody) == "somebody"


@pytest.mark.parametrize(
    ("worlds", "policies", "message"),
    [
        (["bridge"], [lambda s: [1], lambda s: [2]], "Two of the policies are called the same: lambda, lambda"),
        (["bridge"], [Scripted(two_each, "gfp"), "gfp"], "called the same"),
        (["bridge"], [Scripted(two_each, "gfp"), "gfp:deadline=no"], "called the same"),
        (["bridge"], ["gfp:deadline=no", Scripted(two_each, "gfp")], "called the same"),
        (["bridge"], [Scripted(two_each, "bound")], "No policy can be called bound"),
        (["bridge"], ["constant:name=bound"], "No policy can be called bound"),
        (["bridge"], [3], "A policy must be .*; found 3"),
        (["bridge"], 3, "policies must be a list.*found 3"),
        (["bridge"], [pf.make_world("bridge")], "A policy must be .*; found something of type"),
        ([Scripted(two_each)], ["constant"], "A world must be .*of type Scripted, which lacks schema, response, off"),
        ([faulty(__hash__=None)], ["constant"], r"found something of type Faulty, which lacks __hash__ \(a dataclass"),
        ([faulty(seeds=gone)], ["constant"], r"The world Faulty failed: KeyError: 'gone' \(test_own_parts.py, line"),
        ([lambda: faulty(seeds=lambda *_: None)], ["constant"], "seeds of the world Faulty gave None; let it give"),
        (["bridge"], [lambda a, b, c: [1]], "takes a, b, c; at most 2"),
        (["bridge"], [lambda: [1]], "lambda takes no argument, and is given the state"),
        (["bridge"], [Scripted(threading.Lock(), "locked")], "locked cannot be sent to other processes"),
        ([lambda: 5], ["constant"], "made 5, which lacks schema"),
        ([lambda: faulty(response=None)], ["constant"], "which lacks response. Let it"),
        ([lambda: 1 / 0], ["constant"], "could not be made: ZeroDivisionError: division by zero .*line"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(worlds, policies, message) -> None:
    with pytest.raises(SettingError, match=message):
        pf.compare(worlds, policies, **ASKED)


# Policies that fail --------------------------------------------------------------------------------------------------


def late_fault(state):
    if state.round == 1:
        raise RuntimeError("I have no idea")
    return two_each(state)


class Hesitant(Cautious):
    def allocate_many(self, states, lucks):
        if states[0].round:
            raise RuntimeError("who?")
        return super().allocate_many(states, lucks)


FAULTS = {
    "raises": (late_fault, PolicyFailed, r"late_fault' failed in round 1 \(12 coupons, \d+ p\w+\): RuntimeError: I"),
    "exits": (lambda s: sys.exit(3), PolicyFailed, r"round 0 \(20 coupons, 4 people\): SystemExit: 3"),
    "exits in its preparation": (type("E", (), {"__init__": lambda _: sys.exit(3)}), PolicyFailed, "SystemExit: 3"),
    "one of many": (Hesitant, PolicyFailed, r"Hesitant' failed in one of \d+ states of round 1: RuntimeError: who"),
    "floats": (lambda s: [0.5] * len(s.frontier), InfeasibleAllocation, "round 0 .20 coupons, 4 people.*float64"),
    "too many": (lambda s: [9] * len(s.frontier), InfeasibleAllocation, "spends 36 of 20 remaining coupons, 16 too"),
    "negative": (lambda s: [-1] * len(s.frontier), InfeasibleAllocation, "person 0 gets -1 coupons"),
    "other length": (lambda s: [1], InfeasibleAllocation, r"shape \(1,\) for 4 people"),
    "nothing": (lambda s: None, InfeasibleAllocation, "shape"),
    "ragged": (lambda s: [[1], [1, 2]], InfeasibleAllocation, "in round 0 .*NumPy array of numbers"),
    "a list from an object": (type("L", (), {"allocate": lambda *_: [1]}), InfeasibleAllocation, "list; return pf"),
    "no preparation": (type("P", (), {"__init__": lambda self: 1 / 0}), PolicyFailed, "in its preparation: Zero"),
    "no policy": (type("N", (), {}), SettingError, "has no allocate"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_policy_that_fails_is_named_with_its_state_and_stops_no_other(fault) -> None:
    policy, error, message = FAULTS[fault]
    with pytest.raises(ComparisonFailed, match="1 of 3 policies of the comparison failed") as failed:
        pf.compare(["bridge"], ["constant", policy, two_each], **ASKED)
    assert isinstance(failed.value.__cause__, error)
    with pytest.raises(ComparisonFailed, match=message):
        raise failed.value
    expected = pf.compare(["bridge"], ["constant", two_each], **ASKED)
    assert failed.value.results.table.equals(expected.table)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mended_policy_resumes_where_it_failed(tmp_path, workers) -> None:
    broken = Comparison(("bridge",), (late_fault, "constant"), (0, 1), (0.9,), 5, RULES)
    with pytest.raises(ComparisonFailed, match="The others are kept in .*resume=True"):
        run_comparison(broken, tmp_path / "out", workers=Workers(workers))
    assert "constant" in (tmp_path / "out" / "table.md").read_text()
    mended = Comparison(("bridge",), (Scripted(two_each, "late_fault"), "constant"), (0, 1), (0.9,), 5, RULES)
    played: list[str] = []
    run_comparison(mended, tmp_path / "out", resume=True, progress=lambda _, what: played.append(str(what)))
    assert len(played) == 2  # how far it is, and the one piece that failed
    run_comparison(mended, tmp_path / "new")
    assert contents(tmp_path / "out") == contents(tmp_path / "new")


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (faulty(refer=gone), r"in Faulty, draw 0, .*: The world Faulty failed: KeyError: 'gone' .test_own"),
        (faulty(refer=lambda *_: sys.exit(3)), "The world Faulty failed: SystemExit: 3"),
        (faulty(refer=lambda *_: None), "refer of the world Faulty gave None; let it give a Referrals"),
    ],
    ids=["raises", "exits", "nothing"],
)
def test_a_world_that_fails_stops_no_other(world, message) -> None:
    with pytest.raises(ComparisonFailed, match=message) as failed:
        pf.compare([world, "bridge"], ["constant", two_each], **ASKED)
    expected = pf.compare(["bridge"], ["constant", two_each], **ASKED)
    assert failed.value.results.table.equals(expected.table)


def test_a_world_may_fail_before_models_are_fitted_to_it() -> None:
    asked = {**ASKED, "draws": 1, "models": "learned", "workers": 2}
    with pytest.raises(ComparisonFailed, match="constant in Faulty, .*The world Faulty failed: KeyError"):
        pf.compare([faulty(population=gone)], ["constant", two_each], **asked)


def test_a_world_may_fail_in_a_later_draw() -> None:
    def shaky(draw):
        if draw:
            raise RuntimeError("no second draw")
        return pf.make_world("bridge")

    with pytest.raises(ComparisonFailed, match="shaky could not be made: RuntimeError: no second draw") as failed:
        pf.compare([shaky, "bridge"], ["constant"], **ASKED)
    assert failed.value.results.worlds == ("bridge",)


def test_a_comparison_in_which_everything_fails_leaves_the_folder_as_it_was(tmp_path) -> None:
    asked = Comparison(("bridge",), (late_fault,), (0,), (0.9,), 5, RULES)
    with pytest.raises(ComparisonFailed) as failed:
        run_comparison(asked, tmp_path / "out")
    assert failed.value.results is None
    assert not (tmp_path / "out").exists()


# Other packages ------------------------------------------------------------------------------------------------------

PACKAGE = '''
"""A package of somebody else."""
import numpy as np
import peerfront as pf
from peerfront.experiments.policies import PolicyEntry
from peerfront.foundation.settings import Option
from peerfront.foundation.messages import note

class First:
    """Everything to whoever is first."""
    def allocate(self, state, luck):
        return pf.Allocation.of([state.spendable, *[0] * (len(state.frontier) - 1)])

class Some:
    def __init__(self, most):
        self.name, self.most = f"some({most})", most
    def allocate(self, state, luck):
        return pf.Allocation.of([min(self.most, state.spendable), *[0] * (len(state.frontier) - 1)])

some = PolicyEntry("some", lambda _, most=1: Some(most), {"most": Option(int, note("policy_setting.coupons"))})

def check(most):
    if most < 1:
        raise ValueError("too few")

needs = PolicyEntry("needs", lambda _, most: Some(most), some.options, check)

def town(draw):
    """A town of somebody else."""
    return pf.make_world("network:people=60", draw)

class Sunk:
    name = "sunk"
    def __init__(self):
        self.inner = pf.make_world("bridge")
        for each in ("schema", "response", "offspring", "population", "seeds"):
            setattr(self, each, getattr(self.inner, each))
    def refer(self, crowd, coupons):
        raise OSError("no water")
'''
ENTRY_POINTS = """[peerfront.policies]
first = other_package:First
some = other_package:some
needs = other_package:needs
gone = other_package:Gone
broken = other_package_broken:policy
twice = other_package:First

[peerfront.worlds]
town = other_package:town
sunk = other_package:Sunk
ruin = other_package_broken:world
"""


@pytest.fixture
def other_package(tmp_path, monkeypatch) -> Path:
    """Two packages as pip installs them, in a folder that Python finds; both offer a policy of the same name."""
    folder = tmp_path / "site"
    for name, points in (("other", ENTRY_POINTS), ("second", "[peerfront.policies]\ntwice = other_package:Some\n")):
        about = folder / f"{name}_package-1.5.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.5\n")
        (about / "entry_points.txt").write_text(points)
    (folder / "other_package.py").write_text(PACKAGE)
    (folder / "other_package_broken.py").write_text("import a_library_nobody_has\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(pf.__file__).parents[1]}")
    yield folder
    for name in ("other_package", "other_package_broken"):
        sys.modules.pop(name, None)


def test_policies_and_worlds_of_other_packages_are_found_by_name(other_package) -> None:
    asked = {**ASKED, "draws": 1}
    one, two = (
        pf.compare(["town", "bridge"], ["first", "some:most=3", "constant"], **asked, workers=n) for n in (1, 2)
    )
    assert one.episodes.equals(two.episodes)
    assert pf.make_world("town", 2).name == "network"
    assert pf.make_policy("some:most=2", "bridge").name == "some(2)"
    assert pf.compare(["bridge"], ["needs:most=2"], **asked).policies == ("needs:most=2",)
    for settings, problem in (("", "TypeError.*'most'"), (":most=0", "ValueError: too few")):
        with pytest.raises(PolicyFailed, match=f"'needs' failed in the check of its settings: {problem}"):
            pf.compare(["bridge"], [f"needs{settings}"], **asked)
    with pytest.raises(UnknownName, match="Did you mean 'first'"):
        pf.compare(["bridge"], ["frist"])


def test_broken_ones_are_named_and_harm_nobody_else(other_package) -> None:
    for name, fault in (
        (
            "broken",
            r"'broken' of the package other-package 1.5 \(other_package_broken:policy\) cannot be loaded: Module",
        ),
        ("gone", "AttributeError.*Mend or uninstall that package"),
        ("twice", "Several packages offer 'twice': other-package 1.5, second-package 1.5"),
    ):
        with pytest.raises(SettingError, match=fault):
            pf.compare(["bridge"], ["constant", name], **ASKED)
    with pytest.raises(SettingError, match="'ruin' of the package"):
        pf.make_world("ruin")
    assert len(pf.compare(["bridge"], ["constant", "first"], **ASKED).table) == 8


def test_commands_find_them_too(other_package) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from peerfront.cli.main import main; main()", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    policies = run("policies")
    assert policies.returncode == 0, policies.stderr
    shown = " ".join(policies.stdout.split())
    assert "Everything to whoever is first. (other-package 1.5)" in shown
    assert "cannot be loaded" in shown
    assert "some:key=value" in shown
    assert "needs:key=value" in shown
    worlds = run("worlds")
    assert "A town of somebody else. (other-package 1.5)" in " ".join(worlds.stdout.split())
    sunk = run("simulate", "--world", "sunk", "--policy", "first")
    assert (sunk.returncode, "Traceback" in sunk.stderr) == (2, False)
    assert "The world sunk failed: OSError: no water (other_package.py" in " ".join(sunk.stderr.split())
    assert run("worlds", "town").stdout.count("A town of somebody else.") == 1
    small = ("--episodes", "5", "--discount", "0.9", "--budget", "10", "--people", "3")
    done = run("compare", "--world", "town", "--policy", "first", "--policy", "some:most=2", *small)
    assert done.returncode == 0, done.stderr
    assert "some:most=2" in done.stdout


def test_the_command_shows_the_others_and_ends_with_code_2(other_package, tmp_path) -> None:
    (other_package / "other_package.py").write_text(PACKAGE.replace("min(self.most, state.spendable)", "self.most"))
    command = [
        sys.executable, "-c", "from peerfront.cli.main import main; main()", "compare", "--world", "bridge", "--policy",
        "constant", "--policy", "some:most=99", "--discount", "0.9", "--episodes", "5", "--budget", "10",
        "--people", "3", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "constant" in done.stdout
    assert "spends 99 of 10 remaining coupons" in said
    assert "--resume" in said
    assert "Traceback" not in said
    (other_package / "other_package.py").write_text(PACKAGE)
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "some:most=99" in (tmp_path / "out" / "table.md").read_text()


def test_settings_say_whose_code_it_was(tmp_path) -> None:
    asked = Comparison(("bridge",), (two_each,), (0,), (0.9,), 3, RULES)
    run_comparison(asked, tmp_path / "out")
    assert '"policies two_each": "' in (tmp_path / "out" / "settings.json").read_text()
    assert dataclasses.replace(asked, episodes=5).own == asked.own
    assert not dataclasses.replace(asked, policies=("constant",)).own
