"""Names under which other libraries find the environments; registered on import of the package."""

from __future__ import annotations

import gymnasium
import pettingzoo

#: For `pettingzoo.make("aec", AEC_ID)`.
AEC_ID = "kolkhoz/kolkhoz-v0"
#: For `gymnasium.make(GYMNASIUM_ID)`.
GYMNASIUM_ID = "kolkhoz/Kolkhoz-v0"


def register() -> None:
    """Register both environments; a second call does nothing."""
    # PettingZoo has had a registry since its version 1.27.
    if hasattr(pettingzoo, "register") and AEC_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", AEC_ID, entry_point="kolkhoz_env.aec:env")
    if GYMNASIUM_ID not in gymnasium.registry:
        gymnasium.register(GYMNASIUM_ID, entry_point="kolkhoz_env.single:KolkhozEnv")
