"""Four lines first: the commands of a running study say little, and everything with --details."""

from cli.commands import run_command
from peerfront.study.model import load

LIMITS = {"check": 150, "fit": 120, "plan": 110, "week": 160}  # a sheet of three groups needs ten more


def beside_tables(out: str) -> int:
    """Words of an output without the rows of people."""
    lines = [line for line in out.splitlines() if not line.lstrip().startswith(("P0", "person  "))]
    return len(" ".join(lines).split())


def test_commands_are_brief_and_say_everything_with_details(monkeypatch, capsys, tmp_path) -> None:
    def run(*arguments: object) -> str:
        code, out, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=100)
        assert code == 0, err
        return out

    monkeypatch.chdir(tmp_path)
    run("example", "--out", ".", "--people", "200")
    commands = {
        "check": ("check", "study.csv"),
        "fit": ("fit", "study.csv", "--budget", "60", "--out", "model", "--overwrite"),
        "plan": ("plan", "model", "--study-file", "study.csv", "--budget", "60"),
        "week": ("week", "study.csv", "--budget", "60", "--date", "2024-06-01", "--folder", "weeks"),
    }
    for name, command in commands.items():
        assert beside_tables(run(*command)) <= LIMITS[name], name
    spends = "Other numbers of coupons this round"
    assert "Trees, the largest first" in run(*commands["check"], "--details")
    assert spends in run(*commands["plan"], "--details")
    week = ("week", "study.csv", "--date", "2024-06-01", "--folder", "weeks")
    assert spends not in run(*week), "the same week again"
    assert spends in run(*week, "--details")
    assert spends in next((tmp_path / "weeks").glob("week-01*/summary.txt")).read_text("utf-8")
    assert any("Coupons used" in str(line) for line in load(tmp_path / "model").summary.details())
