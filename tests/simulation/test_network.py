from pathlib import Path

import networkx
import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant, RandomSplit
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Rules, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.network import network_world
from peerfront.simulation.society import Society, read_society

EPISODES = named_luck(("network episodes",), 40)


def star(leaves: int) -> Society:
    people = [str(number) for number in range(leaves + 1)]
    ties = np.array([[0, leaf] for leaf in range(1, leaves + 1)])
    return Society.of(people, {"role": ["hub", *["leaf"] * leaves]}, ties)


def test_nobody_is_recruited_twice_and_only_by_acquaintances() -> None:
    world = make_world("network:people=120")
    met: dict[int, list[int]] = {}

    def watch(played) -> None:
        for e, member in zip(played.crowd.episode.tolist(), played.crowd.members.tolist(), strict=True):
            met.setdefault(e, []).append(member)
        after = played.referrals
        for parent, child in zip(played.crowd.members[after.parent], after.next_crowd.members, strict=True):
            assert child in world.society.acquaintances_of(int(parent))

    played = rollout(world, Constant(4), Rules(budget=500), EPISODES, watch=watch)
    for members in met.values():
        assert len(members) == len(set(members))
    assert (played.total_recruits <= 110).all()
    assert played.total_recruits.mean() > 30


def test_capacity_is_limited_by_who_is_left() -> None:
    # Everybody is willing to bring many; a star with 6 leaves has 6 to bring, whoever starts.
    world = network_world(star(6), willingness=500.0, sigma=0.0)
    played = rollout(world, Constant(20), Rules(budget=1000, people=1), EPISODES)
    assert (played.total_recruits == 6).all()
    two = rollout(world, Constant(20), Rules(budget=1000, people=2), EPISODES)
    assert (two.total_recruits == 5).all()


def test_recruits_are_chosen_uniformly_among_acquaintances() -> None:
    world = network_world(star(5), willingness=500.0, sigma=0.0)
    episodes = named_luck(("uniform choice",), 6000)
    chosen: list[int] = []

    def watch(played) -> None:
        hub = played.crowd.members[played.referrals.parent] == 0
        chosen.extend(played.referrals.next_crowd.members[hub].tolist())

    rollout(world, Constant(1), Rules(budget=1, people=1), episodes, watch=watch)
    shares = np.bincount(chosen, minlength=6)[1:]
    assert shares.sum() > 500
    assert abs(shares / shares.sum() - 0.2).max() < 4 * np.sqrt(0.16 / shares.sum())


def test_the_planners_view_respects_network_sizes() -> None:
    world = network_world(star(4), willingness=500.0, sigma=0.0)
    hub, leaf = world.society.covariates[0], world.society.covariates[1]
    survival = world.response.gains(np.array([hub, leaf]), 6)
    assert np.allclose(survival, [[1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]])
    luck = named_luck(("view",), 2)
    assert world.response.sample(np.array([hub, leaf]), 6, luck).tolist() == [4, 1]
    children = world.offspring.sample(np.array([hub, leaf]), luck)
    assert np.array_equal(children, [leaf, hub])
    # Somebody unlike anyone recruits like the most similar member.
    stranger = np.array([hub[0], 6], dtype=np.int16)
    assert np.array_equal(world.offspring.sample(stranger[None, :], named_luck(("s",), 1)), [leaf])
    assert len(world.offspring.sample(np.zeros((0, 2), dtype=np.int16), named_luck(("s",), 0))) == 0


def test_members_keep_their_luck_whichever_way_they_are_reached() -> None:
    world = make_world("network:people=150")
    keys: dict[tuple[int, int], set[int]] = {}

    def watch(played) -> None:
        crowd = played.crowd
        for e, m, k in zip(crowd.episode.tolist(), crowd.members.tolist(), crowd.keys.tolist(), strict=True):
            keys.setdefault((e, m), set()).add(k)

    for policy in (Constant(1), Constant(5), RandomSplit()):
        rollout(world, policy, Rules(), EPISODES, watch=watch)
    assert all(len(found) == 1 for found in keys.values())


def test_too_many_seeds_and_lonely_people() -> None:
    with pytest.raises(SettingError, match="9 first recruits were asked for; this network has 7 people"):
        network_world(star(6)).seeds(EPISODES, 9)
    lonely = Society.of(["a", "b"], {"x": ["1", "2"]}, np.zeros((0, 2), dtype=np.int64))
    world = network_world(lonely)
    assert rollout(world, Constant(3), Rules(people=2), EPISODES).recruits.sum() == 0
    with pytest.raises(SettingError, match="knows anybody"):
        world.offspring.sample(lonely.covariates, named_luck(("x",), 2))


def test_societies_are_indexed_faithfully() -> None:
    graph = networkx.gnm_random_graph(40, 100, seed=1)
    attributes = {name: [str(n % size) for n in graph] for name, size in (("parity", 2), ("third", 3))}
    society = Society.of([str(n) for n in graph], attributes, np.array(graph.edges()))
    for member in range(40):
        assert sorted(society.acquaintances_of(member).tolist()) == sorted(graph.neighbors(member))
    assert society.schema.names == ("parity", "third", "network_size")
    records = society.schema.decode(society.covariates)
    assert all(r["parity"] == str(n % 2) and r["third"] == str(n % 3) for n, r in enumerate(records))
    with pytest.raises(SettingError, match="is taken"):
        Society.of(["a"], {"network_size": ["3"]}, np.zeros((0, 2), dtype=np.int64))
    with pytest.raises(SettingError, match="at least one person"):
        Society.of([], {}, np.zeros((0, 2), dtype=np.int64))


# Files -------------------------------------------------------------------------------------------------------------


def write(folder: Path, nodes: str, edges: str = "source,target\n1,2\n") -> tuple[Path, Path]:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    return folder / "nodes.csv", folder / "edges.csv"


def test_a_society_from_files(tmp_path) -> None:
    files = write(
        tmp_path,
        '\ufeffid,sex,town\n 1 ,f,"a, b"\n2,,c\n\n3,m,c\n',
        "source,target,kind\n1,2,friend\n2,1,friend\n3,2,x\n",
    )
    society = read_society(*files)
    assert society.ids == ("1", "2", "3")
    assert society.degrees.tolist() == [1, 2, 1]  # a tie named twice is one tie
    assert society.schema.decode(society.covariates)[1] == {"sex": "(blank)", "town": "c", "network_size": "2"}
    assert read_society(*files, exclude=["town"]).schema.names == ("sex", "network_size")
    alone = write(tmp_path, "id;sex\n1;f\n2;m\n", "source;target\n")
    assert read_society(*alone).degrees.tolist() == [0, 0]
    spreadsheet = write(tmp_path, "id,sex,,\n1,f,,\n2,m,,\n", "source,target,\n1,2,\n")
    assert read_society(*spreadsheet).schema.names == ("sex", "network_size")


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("name,sex\n1,f\n", "source,target\n", "nodes.csv: the first line must name the column 'id'; found name, sex"),
        ("", "source,target\n", "nodes.csv: the file is empty"),
        ("id,sex\n", "source,target\n", "nobody below it"),
        ("id,sex\n1,f\n1,m\n", "source,target\n", "line 3: id '1' stands already in line 2"),
        ("id,sex\n,f\n", "source,target\n", "line 2: the id is empty"),
        ("id,sex\n1,f,9\n", "source,target\n", "row 2: 3 values for 2 columns"),
        ("id,sex\n1,f\n2\n", "source,target\n", "row 3: 1 values for 2 columns"),
        ("id,sex,sex\n1,f,f\n", "source,target\n", "names 'sex' more than once"),
        ("id,,sex\n1,x,f\n", "source,target\n", "Column 2 has no name. Name it"),
        ("id,sex\n1,f\n", "from,to\n1,1\n", "edges.csv: the first line must name the column 'source'"),
        ("id,sex\n1,f\n2,f\n", "source,target\n1,9\n", "line 2: target '9' is not an id of nodes.csv"),
        ('id,sex\n1,"f\nf"\n1,m\n', "source,target\n", "line 4: id '1' stands already in line 3"),
        ("id,sex\n1,f\n2,f\n", "source,target\n2,2\n", "line 2: '2' is tied to itself"),
        ('id,sex\n1,"f\n', "source,target\n", "cannot be read as a table"),
        ("id,n\n" + "".join(f"{i},{i}\n" for i in range(101)), "source,target\n", "'n' has 101 different values"),
    ],
)
def test_malformed_files_are_refused_with_their_place(tmp_path, nodes, edges, message) -> None:
    with pytest.raises(DataFileError, match=message):
        read_society(*write(tmp_path, nodes, edges))


def test_unreadable_files(tmp_path) -> None:
    nodes, edges = write(tmp_path, "id,sex\n1,f\n2,f\n")
    with pytest.raises(DataFileError, match="no such file"):
        read_society(tmp_path / "absent.csv", edges)
    nodes.write_bytes(b"id,sex\n1,\xff\xfe\n")
    with pytest.raises(DataFileError, match="UTF-8"):
        read_society(nodes, edges)
    with pytest.raises(DataFileError, match="no column 'age' to exclude. Columns besides id: sex"):
        read_society(*write(tmp_path, "id,sex\n1,f\n2,f\n"), exclude=["age"])


def test_the_korean_villages(shared_data) -> None:
    folder = shared_data / "korean_family_planning"
    society = read_society(folder / "nodes.csv", folder / "edges.csv", exclude=["village", "time_of_adoption"])
    assert len(society) == 1047
    assert society.degrees.sum() == 2 * 3931
    assert (society.degrees == 0).sum() == 11
    assert society.degrees.max() == 35
    assert len(society.schema.fields) == 18  # the paper's 17, and network size
    played = rollout(network_world(society), Constant(3), Rules(), EPISODES)
    assert played.total_recruits.mean() > 20


def test_the_faux_madrona_network(shared_data) -> None:
    folder = shared_data / "fauxmadrona"
    with pytest.raises(DataFileError, match="'vertex_name' has 1000 different values.*exclude=vertex_name"):
        read_society(folder / "nodes.csv", folder / "edges.csv")
    society = read_society(folder / "nodes.csv", folder / "edges.csv", exclude=["vertex_name"])
    assert (len(society), society.degrees.sum()) == (1000, 2 * 3586)
