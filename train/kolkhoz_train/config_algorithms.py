"""The algorithms that a config can name: how a run learns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from .config_parts import Batch, Count, Fraction, Natural, Part, Positive, Whole


class AnchorPart(Part):
    """A pull towards a frozen bot's policy."""

    bot: StrictStr = Field(
        description="a shipped bot's name, or a bot or run folder, of the same network shape"
    )
    weight: Natural = Field(0.01, description="weight of KL(bot || learner) in the loss")


class ImitationPart(Part):
    """A first stretch of the run that imitates an agent: a start above random in little time."""

    agent: StrictStr = Field(
        description="AGENT that plays every seat and is imitated; none with a budget in time"
    )
    decisions: Count = Field(2_000_000, description="learned decisions until PPO begins")
    learning_rate: Positive = Field(2e-3, description="of Adam, in this stretch")


class CriticPart(Part):
    """A critic for training alone, which sees the cards of all seats."""

    hidden: tuple[Annotated[Whole, Field(ge=1, le=8192)], ...] = Field(
        (256, 128), min_length=1, description="sizes of its hidden layers"
    )
    warm_up: Natural = Field(
        500_000, description="decisions it learns from before advantages are over its values"
    )
    epochs: Count = Field(1, description="passes over a batch")


class PpoPart(Part):
    """PPO self-play on the vectorised engine."""

    name: Literal["ppo"] = Field("ppo", description="this algorithm")
    games: Batch = Field(2048, description="whole games in a batch")
    copies: Count = Field(
        1, description="tables of a batch that play the same deal, as in duplicate bridge; above "
        "1, the luck that they have in common is taken out of the advantages"
    )  # fmt: skip
    minibatch: Batch = Field(8192, description="decisions in a gradient step")
    epochs: Count = Field(2, description="passes over a batch")
    learning_rate: Positive = Field(2e-3, description="of Adam, at the start")
    final_learning_rate: Natural = Field(1e-4, description="at the end")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear", description="how the learning rate goes from start to end"
    )
    entropy: Natural = Field(0.03, description="weight of the entropy bonus, at the start")
    final_entropy: Natural = Field(0.005, description="at the end")
    clip: Positive = Field(0.2, description="how far a step may move a probability's ratio")
    gae_lambda: Fraction = Field(0.95, description="lambda of GAE, over a seat's own decisions")
    discount: Fraction = Field(1.0, description="a seat's decision to its next")
    value_weight: Natural = Field(0.5, description="weight of the value loss")
    max_gradient: Positive = Field(0.5, description="gradients are clipped to this norm")
    average: Natural = Field(
        0.97, lt=1, description="how much of the bot's weights, which are a moving average "
        "of the learner's, stays at a batch; 0: the bot is the learner as it is"
    )  # fmt: skip
    precision: Literal["bfloat16", "float32"] = Field(
        "bfloat16", description="of matrix products; weights and losses stay float32"
    )
    critic: CriticPart | None = Field(
        None, description="values for the advantages from a critic that sees all cards; null: none"
    )
    anchor: AnchorPart | None = Field(None, description="pull towards a frozen bot; null: none")
    imitation: ImitationPart | None = Field(
        None, description="imitate an agent at first; null: PPO from the start"
    )

    @model_validator(mode="after")
    def _whole_deals(self) -> PpoPart:
        if self.games % self.copies:
            raise ValueError(f"games: {self.games} is no multiple of copies ({self.copies})")
        return self


class Sb3Part(Part):
    """sb3-contrib's MaskablePPO through the engine's native VecEnv, against scripted opponents."""

    name: Literal["sb3_maskable_ppo"] = Field(description="this algorithm")
    environments: Batch = Field(2048, description="games side by side in the VecEnv")
    steps: Count = Field(16, description="decisions of the learner in a batch, each environment")
    minibatch: Batch = Field(4096, description="decisions in a gradient step")
    epochs: Count = Field(2, description="passes over a batch")
    learning_rate: Positive = Field(2e-3, description="of Adam, falling linearly to 0")
    entropy: Natural = Field(0.01, description="weight of the entropy bonus")
    clip: Positive = Field(0.2, description="how far a step may move a probability's ratio")
    gae_lambda: Fraction = Field(0.95, description="lambda of GAE")
    discount: Fraction = Field(1.0, description="a decision to the learner's next")
    keep_zip: StrictBool = Field(True, description="keep SB3's own zip beside the bot")


class PlayerShare(Part):
    """One kind of player in the games that a belief is learned from."""

    agent: StrictStr = Field(description="AGENT without a budget in time, or a bot or run folder")
    share: Positive = Field(1.0, description="share of the seats, relative to the other entries")


class BeliefPart(Part):
    """Learning from games of others which worlds are likely, for search."""

    name: Literal["belief"] = Field(description="this algorithm")
    players: tuple[PlayerShare, ...] = Field(
        min_length=1, description="who plays the games; each seat is drawn"
    )
    games: Batch = Field(512, description="whole games in a batch")
    kept: Fraction = Field(
        0.25, gt=0, description="share of the decisions that are learned from: neighbours in a "
        "game tell much the same"
    )  # fmt: skip
    worlds: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        15, description="even worlds that the true one is told from"
    )
    minibatch: Batch = Field(1024, description="decisions in a gradient step")
    learning_rate: Positive = Field(1.5e-3, description="of Adam, at the start")
    final_learning_rate: Natural = Field(1e-5, description="at the end, reached linearly")
    precision: Literal["bfloat16", "float32"] = Field(
        "bfloat16", description="of matrix products, and of bots that play; weights, "
        "losses and what is measured stay float32"
    )
