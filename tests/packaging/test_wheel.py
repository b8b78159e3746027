"""A wheel, built and installed into an empty environment, works as the checkout does."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

import peerfront

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def run(*command: str | Path, folder: Path) -> str:
    """Run a command without the checkout on its path; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    environment["SOURCE_DATE_EPOCH"] = "1704067200"  # as `make wheel` gives the time of the last commit
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources, so that nothing is left behind in the checkout."""
    return built_wheel(tmp_path_factory)


def built_wheel(tmp_path_factory: pytest.TempPathFactory, written: float | None = None) -> Path:
    """Build a wheel of the sources, as if all files had been written at this time."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for path in copy.rglob("*") if written is not None else ():
        os.utime(path, (written, written))
    out = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", out, copy, folder=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "peerfront/py.typed" in names
    kinds = (".py", ".j2", ".html", ".css", ".js", ".svg", ".po", ".mo")
    package = {path for path in (ROOT / "src").rglob("*") if path.suffix in kinds}
    assert {path.suffix for path in package} == set(kinds)
    assert {path.relative_to(ROOT / "src").as_posix() for path in package} <= names
    assert {name.split("/")[0] for name in names} == {"peerfront", f"peerfront-{peerfront.__version__}.dist-info"}


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    again = built_wheel(tmp_path_factory, written=1_500_000_000.0)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_metadata_say_what_it_is(metadata: Message) -> None:
    assert metadata["Version"] == peerfront.__version__
    assert "coupons" in metadata["Summary"]
    assert metadata["Author"] == "peerfront contributors"
    assert metadata.get_all("Provides-Extra") == [
        "dask",
        "live",
        "ray",
        "research",
        "smoothing",
    ]  # tools of development are dependency groups
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in metadata.get_all("Classifier", [])


@pytest.mark.slow
def test_an_empty_environment_with_the_wheel_runs_the_commands(wheel: Path, tmp_path: Path) -> None:
    """The environment borrows the packages peerfront needs from this one, not peerfront itself."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    layout = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", layout))
    run(*PIP, "--python", binaries / "python", "install", "--no-deps", "--no-index", wheel, folder=tmp_path)
    # A folder named in a .pth file is searched, but its own .pth files are not read: no editable install leaks in.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(binaries / "python", "-c", "import peerfront; print(peerfront.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(site)

    command = binaries / "peerfront"
    assert peerfront.__version__ in run(command, "--version", folder=tmp_path)
    run(command, "example", "--out", "example", folder=tmp_path)
    assert (tmp_path / "example" / "study.csv").exists()
    said = run(command, "check", "example/study.csv", "--out", "checked", folder=tmp_path)
    assert "study.csv" in said
    assert (tmp_path / "checked" / "schema.toml").exists()
