"""How many random programs are drawn, and whether they are the same ones in every run."""

import os

from hypothesis import HealthCheck, Phase, settings

_VARIABLE = "COMMANALYZER_FLOW_EXAMPLES"


def drawn(usual: int, share: int = 1) -> settings:
    """Settings of a test over random programs.

    Args:
        usual: Programs, always the same ones. ``COMMANALYZER_FLOW_EXAMPLES`` draws as many others.
        share: Only one of so many of them, but one at least.
    """
    examples = int(os.environ.get(_VARIABLE, str(usual)))
    return settings(
        max_examples=max(examples // share, 1),
        deadline=None,
        derandomize=_VARIABLE not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
