"""What axe-core finds on a page that keeps people from using it."""

from axe_playwright_python.sync_playwright import Axe

GRAVE = ("serious", "critical")


def grave_findings(page) -> list[str]:
    """Serious and critical findings, each with where it is."""
    results = Axe().run(page).response
    return [
        f"{found['id']} ({found['impact']}) at {page.url}: {node['target']} {node['html'][:200]}"
        for found in results["violations"]
        if found["impact"] in GRAVE
        for node in found["nodes"]
    ]
