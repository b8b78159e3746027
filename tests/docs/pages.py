"""The pages of the project, and the module that makes some of them."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(
        rf"^ *```{language}\n(.*?)^ *```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def quoted_commands(page: Path) -> list[str]:
    """Every `peerfront ...` that a page quotes, in blocks and within sentences."""
    text = page.read_text(encoding="utf-8")
    lines = [
        line
        for language in ("sh", "bash", "console")
        for block in blocks(page, language)
        for line in block.splitlines()
    ]
    spans = re.findall(r"`(peerfront [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = [re.sub(r"^\$ ", "", line) for line in lines] + [" ".join(span.split()) for span in spans]
    return [command.split(" #")[0] for command in found if command.startswith("peerfront ")]


def script(path: str) -> ModuleType:
    """A script of the project as a module; its folder is not searched for other ones."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


generated = script("docs/generated_pages.py")
