"""Four lines first: the commands of a running study say little, and everything with --details."""

from cli.commands import run_command

LIMITS = {"check": 150, "fit": 120, "plan": 100, "week": 150}


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
    more = {
        "check": "Trees, the largest first",
        "plan": "Other numbers of coupons this round",
        "week": "Other numbers of coupons this round",
    }
    for name, command in commands.items():
        assert beside_tables(run(*command)) <= LIMITS[name], name
        if name in more:
            details = run(*command, "--details")
            assert more[name] in details
    assert (
        "Other numbers of coupons this round" in (next((tmp_path / "weeks").glob("week-01*/summary.txt"))).read_text()
    )
