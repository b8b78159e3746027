"""What a comparison shows: tables, figures, names."""

import dataclasses
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy.stats import t as student

from experiments.small import SMALL
from peerfront.cli.research import terminal_table
from peerfront.experiments.comparison import Comparison, run_task, tasks
from peerfront.experiments.comparison_run import run_comparison
from peerfront.problem import Rules
from peerfront.words.comparison_words import difference_tables, in_latex, markdown_report, mean_tables


def test_the_tables_agree_with_the_trajectories(finished) -> None:
    episodes = pd.read_csv(finished / "episodes.csv")
    rounds = pd.read_csv(finished / "rounds.csv.gz")
    keys = ["world", "draw", "policy", "discount", "episode"]
    assert len(episodes) == (1 + 2) * 4 * 2 * 12  # bridge has no draws
    rounds["reward"] = rounds["recruits"] * rounds["discount"] ** rounds["round"]
    totals = rounds.groupby(keys).agg(
        reward=("reward", "sum"), recruits=("recruits", "sum"), spend=("spend", "sum"), rounds=("round", "count")
    )
    joined = episodes.set_index(keys).join(totals.add_suffix("_summed"))
    assert np.allclose(joined["discounted_reward"], joined["reward_summed"])
    assert (joined["recruits"] == joined["recruits_summed"]).all()
    assert (joined["spend"] == joined["spend_summed"]).all()
    assert (joined["rounds"] == joined["rounds_summed"]).all()
    assert set(episodes["ending"]) <= {"budget", "extinct", "stopped", "horizon"}
    summary = pd.read_csv(finished / "summary.csv")
    one = summary[(summary["metric"] == "recruits") & (summary["world"] == "bridge")].iloc[0]
    same = episodes[
        (episodes["world"] == "bridge")
        & (episodes["policy"] == one["policy"])
        & (episodes["discount"] == one["discount"])
    ]
    assert one["mean"] == pytest.approx(same["recruits"].mean())
    saved = json.loads((finished / "settings.json").read_text())
    assert saved["comparison"]["episodes"] == 12
    assert saved["made_by"]["numpy"] == np.__version__


def test_another_policy_or_variant_changes_nobody_elses_draws() -> None:
    alone = dataclasses.replace(SMALL, worlds=("icpsr22140",), policies=("constant:coupons=2",))
    company = dataclasses.replace(
        alone, worlds=("icpsr22140:name=again", "icpsr22140"), policies=("random_split", "constant:coupons=2")
    )
    one, other = run_comparison(alone).rounds(), run_comparison(company).rounds()
    for world in ("icpsr22140", "again"):
        same = other[(other["policy"] == "constant:coupons=2") & (other["world"] == world)]
        columns = ["draw", "discount", "episode", "round", "frontier", "spend", "recruits"]
        assert np.array_equal(same[columns].to_numpy(), one[columns].to_numpy())


def test_figures_are_made(finished) -> None:
    for world in ("bridge", "icpsr22140"):
        assert (finished / f"curves-{world}.png").read_bytes().startswith(b"\x89PNG")
        svg = (finished / f"curves-{world}.svg").read_text()
        assert "<svg" in svg
    assert not list(finished.rglob("*.tmp"))


def test_tables_for_people() -> None:
    results = run_comparison(dataclasses.replace(SMALL, worlds=("bridge",)))
    means = mean_tables(results)
    titles = ["Discounted reward in bridge, 95% intervals", "Recruits in bridge, 95% intervals"]
    assert [str(table.title) for table in means] == titles
    assert list(map(str, means[0].headings)) == ["policy", "discount 0.9", "discount 1"]
    (table,) = difference_tables(results, "constant:coupons=2")
    assert [row[0] for row in table.rows] == ["random_split", *SMALL.policies[2:]]
    (flipped,) = difference_tables(results, "random_split")
    forth, back = str(table.rows[0][1]), str(flipped.rows[0][1])
    assert float(forth.split()[0]) == -float(back.split()[0])
    text = markdown_report(results)
    assert "| random_split |" in text
    assert "20 coupons, 4 people at the start" in text
    latex = results.to_latex("threshold:cutoff=0.9,at_least=4")
    for part in (r"\begin{tabular}", r"\toprule", r"\end{tabular}"):
        assert latex.count(part) == len(means) + 1
    assert r"random\_split & " in latex
    rows = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[_%#]|[^\x00-\x7f]", rows)  # no sign that LaTeX takes for a command
    console = Console(width=80, file=io.StringIO())
    for each in [*means, *difference_tables(results)]:
        console.print(terminal_table(each))
    assert "\u2026" not in console.file.getvalue()  # no number is cut short, however long the names
    assert console.file.getvalue().count("[") == 2 * 3
    lonely = run_comparison(
        dataclasses.replace(SMALL, worlds=("bridge",), policies=("random_split",), draws=(0,), episodes=1)
    )
    assert difference_tables(lonely) == []
    assert "±" not in str(mean_tables(lonely)[0].rows[0][1])
    row = results.table.iloc[0]
    margin = student.ppf(0.975, row["episodes"] - 1) * row["standard_error"]  # one draw: over episodes
    assert means[0].rows[0][1] == f"{row['mean']:.1f} ± {margin:.1f}"
    capped = dataclasses.replace(SMALL, worlds=("bridge",), rules=Rules(budget=5, max_per_person=2, max_per_round=3))
    assert "at most 2 coupons a person, at most 3 coupons a round" in markdown_report(run_comparison(capped))


def test_no_cell_of_latex_is_taken_for_the_length_of_a_row() -> None:
    assert in_latex("[1.5cm] a_b & c") == r"{[}1.5cm] a\_b \& c"


def test_two_variants_of_a_world_get_two_figures(tmp_path) -> None:
    worlds = ("boom_bust:fidelity=0.5", "boom_bust")
    asked = dataclasses.replace(SMALL, worlds=worlds, policies=("random_split",), episodes=2)
    results = run_comparison(asked, tmp_path / "out")
    assert set(results.episodes["draw"]) == {0}  # one world, however many draws are asked for
    assert {f.name for f in (tmp_path / "out").glob("*.png")} == {"curves-boom_bust-1.png", "curves-boom_bust-2.png"}


def test_names_replace_specifications_in_tables_and_in_luck(tmp_path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(30)))
    edges.write_text(
        "source,target\n" + "".join(f"{i},{(i * 7 + 1) % 30}\n" for i in range(30) if i != (i * 7 + 1) % 30)
    )
    (tmp_path / "moved").mkdir()
    tables = []
    for folder in (tmp_path, tmp_path / "moved"):
        for file in (nodes, edges):
            (folder / file.name).write_text(file.read_text())
        world = f"network:nodes={folder / 'nodes.csv'},edges={folder / 'edges.csv'}"
        asked = dataclasses.replace(SMALL, worlds=(world, f"{world},name=villages"), policies=("constant:name=three",))
        tables.append(run_comparison(asked).episodes)
    assert set(tables[0]["world"]) == {"network:nodes=nodes.csv,edges=edges.csv", "villages"}
    assert set(tables[0]["policy"]) == {"three"}
    pd.testing.assert_frame_equal(*tables)  # where the files lie changes nothing


def test_a_tuned_threshold_says_what_it_became() -> None:
    asked = Comparison(("bridge",), ("threshold",), (0,), (0.5, 1.0), 4, Rules(budget=8, people=3))
    (task,) = tasks(asked)  # one tuning serves both discounts
    result = run_task(asked, task)
    assert len(result.trajectories) == 2
    assert all(text.startswith("threshold:cutoff=") for text in result.prepared)
    (alone,) = tasks(dataclasses.replace(asked, discounts=(1.0,)))
    same = run_task(dataclasses.replace(asked, discounts=(1.0,)), alone)
    assert same.prepared == result.prepared[1:]  # which others are asked for does not matter
