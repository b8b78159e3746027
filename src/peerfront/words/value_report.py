"""The report of a learned value, in words."""

from peerfront.foundation.messages import Measured
from peerfront.gfp.learning import Candidate, ValueReport
from peerfront.words.language import Text, say


def value_report_lines(report: ValueReport) -> list[Text]:
    """How well V fits its targets, its own expectation and that of simulations, and the candidates compared."""
    low, middle, high = report.coverage
    lines = [
        say("{method}, {iterations} iterations", method=report.method, iterations=report.iterations),
        say("V against its targets: off by {residual:.1%} of the budget (root mean square)", residual=report.residual),
        say(
            "coverage z on the states learned from: {low:.2f} / {middle:.2f} / {high:.2f} (deciles 1, 5, 9)",
            low=low,
            middle=middle,
            high=high,
        ),
        say(
            "Laplace embeddings: {mean:.2f} on average, spread {spread:.3f} between people; the network is off by "
            "{error:.3f}",
            mean=report.uncovered,
            spread=report.uncovered_spread,
            error=report.embedding_error,
        ),
        say(
            "first frontiers: V promises {promised:.1f}, simulation gives {simulated:.1f} (95%)",
            promised=report.promised,
            simulated=Measured.of(report.simulated, report.simulated_error),
        ),
    ]
    if not report.candidates:
        return lines + [say("{name}: {value:.2f}", name=name, value=value) for name, value in report.history]
    compared = say(
        "candidates, in {episodes:,} episodes that served neither learning nor tuning, with 95% intervals:",
        episodes=report.compared_episodes,
    )
    return [*lines, compared, *map(_candidate_line, report.candidates)]


def _candidate_line(candidate: Candidate) -> Text:
    if candidate.kept:
        return say(
            "  {name}: {earned:.2f}, the best, so this one is kept", name=candidate.name, earned=candidate.earned
        )
    return say(
        "  {name}: {earned:.2f} ({behind:.2f} less)",
        name=candidate.name,
        earned=candidate.earned,
        behind=Measured.of(candidate.behind, candidate.behind_error),
    )
