"""What a config can say, as pydantic models: the one description that training reads, `--explain`
prints and the docs show.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import Field, StrictStr, field_validator, model_validator

from kolkhoz_agents.network import NetworkShape

from .config_algorithms import BeliefPart, PpoPart, Sb3Part
from .config_parts import Count, Deals, Natural, Part, Positive, Seed, Several, Weight, Whole

SELF, POPULATION = "self", "population"


class GamePart(Part):
    """The game that is learned."""

    name: StrictStr = Field(
        "kolkhoz", description="an installed game; with --code package.module:factory too"
    )
    rules: dict[str, Any] = Field(
        default_factory=dict, description="the game's rules options; kolkhoz: players, quota, ..."
    )


class NetworkPart(Part):
    """Shape of the network, and where its first weights come from."""

    hidden: tuple[Annotated[Whole, Field(ge=1, le=8192)], ...] = Field(
        (256, 256), min_length=1, description="sizes of the hidden layers"
    )
    activation: Literal["silu", "relu"] = Field("silu", description="after each hidden layer")
    trunk: Literal["shared", "separate"] = Field(
        "shared", description="whether policy and value share their hidden layers"
    )
    heads: Literal["shared", "phase"] = Field(
        "shared", description="one policy output, or one for each decision phase"
    )
    inputs: tuple[StrictStr, ...] | None = Field(
        None, min_length=1, description="observation blocks that are seen; null: all"
    )
    start_from: StrictStr | None = Field(
        None,
        description="whose weights training starts from: a shipped bot's name, or a bot or run "
        "folder; its network may be smaller (fewer units, layers or inputs) and then grows without "
        "changing what it computes; null: drawn at random",
    )

    stored: Literal["float32", "float16"] = Field(
        "float32", description="how the bot's weights are stored; float16 takes half the space"
    )

    @field_validator("inputs")
    @classmethod
    def _each_once(cls, inputs: tuple[str, ...] | None) -> tuple[str, ...] | None:
        twice = [name for name, times in Counter(inputs or ()).items() if times > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is given twice")
        return inputs

    def shape(self) -> NetworkShape:
        """The network's shape as bots store it."""
        return NetworkShape(
            tuple(self.hidden), self.activation, self.trunk, self.heads, self.inputs
        )


class TableMix(Part):
    """One kind of table in the mixture."""

    agent: StrictStr = Field(
        description="who sits with the learner: self, population, an AGENT (random, heuristic, "
        "...) without a budget in time, a bot or run folder"
    )
    share: Natural = Field(1.0, description="share of games, relative to the other entries")
    final_share: Natural | None = Field(
        None, description="share at the end, reached linearly; null: as at the start"
    )
    seats: Count | None = Field(
        None, description="seats that the agent takes at such a table; null: all but one"
    )


class PopulationPart(Part):
    """Frozen earlier selves: the pool that `population` tables draw from.

    Every `every` learned decisions a copy of the network joins. When the pool is full, every
    second snapshot leaves and the interval doubles: the pool stays spread over the whole run.
    """

    every: Count = Field(2_000_000, description="learned decisions from snapshot to snapshot")
    keep: Several = Field(16, description="snapshots at which the pool is full")
    drawn: Count = Field(2, description="members drawn for each batch of games")
    agents: tuple[StrictStr, ...] = Field(
        (), description="bots (exploiters, say) that are in the pool from the start"
    )


class OpponentsPart(Part):
    """Who sits at the learner's tables."""

    tables: tuple[TableMix, ...] = Field(
        (TableMix(agent=SELF),), min_length=1, description="the mixture of tables"
    )
    population: PopulationPart = Field(
        default_factory=PopulationPart, description="the pool of earlier selves"
    )

    @model_validator(mode="after")
    def _some_share(self) -> OpponentsPart:
        ends = [t.share if t.final_share is None else t.final_share for t in self.tables]
        if not any(table.share for table in self.tables) or not any(ends):
            raise ValueError("tables: at least one share must be above 0, at the end as well")
        return self


class RewardPart(Part):
    """A seat's return at the end of a game."""

    win_share: Weight = Field(1.0, description="weight of the win share less par")
    margin: Weight = Field(0.3, description="weight of tanh(margin / margin_scale)")
    margin_scale: Positive = Field(
        25.0, description="points; the margin is the score less the best other seat's"
    )

    @model_validator(mode="after")
    def _something_to_learn(self) -> RewardPart:
        if self.win_share == 0 and self.margin == 0:
            raise ValueError("win_share and margin are both 0: there would be nothing to learn")
        return self


class BudgetPart(Part):
    """When training ends: at whichever comes first.

    Schedules follow the share of the budget that is used. A budget in decisions gives the same bot
    in every run of the same config and seed on a machine; one in minutes depends on its speed.
    """

    decisions: Count | None = Field(None, description="learned decisions")
    minutes: Positive | None = Field(None, description="minutes of training, evaluation included")

    @model_validator(mode="after")
    def _some_end(self) -> BudgetPart:
        if self.decisions is None and self.minutes is None:
            raise ValueError("give decisions, minutes, or both")
        return self

    def used(self, learned: int, seconds: float) -> float:
        """How much of the budget is used after so many learned decisions and seconds, 0 to 1."""
        parts = [0.0]
        if self.decisions is not None:
            parts.append(learned / self.decisions)
        if self.minutes is not None:
            parts.append(seconds / (60 * self.minutes))
        return min(1.0, max(parts))


class EvaluationPart(Part):
    """Measuring the bot (its best moves) while it trains: one copy among copies of an opponent."""

    every_minutes: Positive = Field(5.0, description="from evaluation to evaluation")
    opponents: tuple[StrictStr, ...] = Field(("random",), description="AGENTs to measure against")
    deals: Deals = Field(250, description="deals, each played in every seat rotation")
    final_deals: Deals = Field(1000, description="deals of the evaluation at the end")
    seed: Seed = Field(1_000_003, description="seed of its deals")


class CheckpointPart(Part):
    """Saving, so that a stopped run can go on."""

    every_minutes: Positive = Field(2.0, description="from checkpoint to checkpoint")
    keep: Several = Field(2, description="newest checkpoints that are kept")


class TrainingConfig(Part):
    """A training run."""

    seed: Seed = Field(1, description="of everything that is drawn in the run")
    threads: Annotated[Whole, Field(ge=1, le=256)] = Field(
        2, description="threads of torch; results are repeatable for an equal number"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the network learns; auto: a GPU if torch finds one"
    )
    game: GamePart = Field(default_factory=GamePart, description="the game")
    network: NetworkPart = Field(default_factory=NetworkPart, description="the network")
    algorithm: Annotated[PpoPart | Sb3Part | BeliefPart, Field(discriminator="name")] = Field(
        default_factory=PpoPart, description="how it learns"
    )
    opponents: OpponentsPart = Field(default_factory=OpponentsPart, description="against whom")
    reward: RewardPart = Field(default_factory=RewardPart, description="what it is paid for")
    learn: tuple[StrictStr, ...] | None = Field(
        None,
        min_length=1,
        description="decisions that the learner makes: phases, groups of phases (swap), or a phase "
        "with what an observation block holds (play:hand_sizes=2, the last card played before one "
        "is kept); null: all",
    )
    partner: StrictStr | None = Field(
        None,
        description="AGENT that makes the learner's other decisions; needed with learn, and none "
        "with a budget in time",
    )
    budget: BudgetPart = Field(description="how long")
    evaluation: EvaluationPart = Field(
        default_factory=EvaluationPart, description="how it is measured"
    )
    checkpoint: CheckpointPart = Field(
        default_factory=CheckpointPart, description="how it is saved"
    )

    @field_validator("algorithm", mode="before")
    @classmethod
    def _default_algorithm(cls, value: Any) -> Any:
        return {"name": "ppo", **value} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _partner_given(self) -> TrainingConfig:
        if (self.learn is None) != (self.partner is None):
            raise ValueError("learn and partner go together: give both or neither")
        return self


def part_models(annotation: Any) -> list[type[Part]]:
    """The config parts named in a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return [annotation]
    arguments = getattr(annotation, "__args__", ())
    return [model for argument in arguments for model in part_models(argument)]
