"""What a config file can say, as pydantic models: the one description that training reads,
`--explain` prints and the docs show.

A config is YAML (safe loading), one mapping with the parts of `TrainingConfig`. Unknown keys are
refused; an error names the file, the key, the value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from kolkhoz_agents.network import NetworkShape
from kolkhoz_env.errors import KolkhozError

SELF, POPULATION = "self", "population"


class ConfigError(KolkhozError):
    """A config file or override is wrong; its text names file, key, value and what is allowed."""


def _count(value: Any) -> Any:
    """`20_000_000`, `2e7` (which YAML reads as text) and 2e7 are all the same whole number."""
    if isinstance(value, str):
        try:
            value = float(value.replace("_", ""))
        except ValueError:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, BeforeValidator(_count), Field(ge=1)]
#: A number of games or decisions that are held in memory at once, some 100 KB a game.
Batch = Annotated[int, BeforeValidator(_count), Field(ge=1, le=1_000_000)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


class Part(BaseModel):
    """A part of the config: immutable, and strict about its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class GamePart(Part):
    """The game that is learned."""

    name: str = Field("kolkhoz", description="an installed game, or package.module:factory")
    rules: dict[str, Any] = Field(
        default_factory=dict, description="the game's rules options; kolkhoz: players, quota, ..."
    )


class NetworkPart(Part):
    """Shape of the network, and where its first weights come from."""

    hidden: tuple[Annotated[int, Field(ge=1, le=8192)], ...] = Field(
        (256, 256), min_length=1, description="sizes of the hidden layers"
    )
    activation: Literal["relu", "silu"] = Field("relu", description="after each hidden layer")
    trunk: Literal["shared", "separate"] = Field(
        "shared", description="whether policy and value share their hidden layers"
    )
    heads: Literal["shared", "phase"] = Field(
        "shared", description="one policy output, or one for each decision phase"
    )
    inputs: tuple[str, ...] | None = Field(
        None, description="observation blocks that are seen; null: all"
    )
    start_from: str | None = Field(
        None, description="a bot or run folder whose weights training starts from"
    )

    def shape(self) -> NetworkShape:
        """The network's shape as bots store it."""
        return NetworkShape(
            tuple(self.hidden), self.activation, self.trunk, self.heads, self.inputs
        )


class AnchorPart(Part):
    """A pull towards a frozen bot's policy."""

    bot: str = Field(description="a bot or run folder of the same network shape")
    weight: float = Field(0.01, ge=0, description="weight of KL(bot || learner) in the loss")


class ImitationPart(Part):
    """A first stretch of the run that imitates an agent: a start above random in little time."""

    agent: str = Field(description="AGENT that plays every seat and is imitated")
    decisions: Count = Field(2_000_000, description="learned decisions until PPO begins")
    learning_rate: Positive = Field(2e-3, description="of Adam, in this stretch")


class PpoPart(Part):
    """PPO self-play on the vectorised engine."""

    name: Literal["ppo"] = Field("ppo", description="this algorithm")
    games: Batch = Field(1024, description="whole games in a batch")
    minibatch: Batch = Field(8192, description="decisions in a gradient step")
    epochs: Count = Field(2, description="passes over a batch")
    learning_rate: Positive = Field(2e-3, description="of Adam, at the start")
    final_learning_rate: float = Field(1e-4, ge=0, description="at the end")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear", description="how the learning rate goes from start to end"
    )
    entropy: float = Field(0.03, ge=0, description="weight of the entropy bonus, at the start")
    final_entropy: float = Field(0.005, ge=0, description="at the end")
    clip: Positive = Field(0.2, description="how far a step may move a probability's ratio")
    gae_lambda: Fraction = Field(0.95, description="lambda of GAE, over a seat's own decisions")
    discount: Fraction = Field(1.0, description="a seat's decision to its next")
    value_weight: float = Field(0.5, ge=0, description="weight of the value loss")
    max_gradient: Positive = Field(0.5, description="gradients are clipped to this norm")
    average: float = Field(
        0.97, ge=0, lt=1, description="how much of the bot's weights, which are a moving average "
        "of the learner's, stays at a batch; 0: the bot is the learner as it is"
    )  # fmt: skip
    precision: Literal["bfloat16", "float32"] = Field(
        "bfloat16", description="of matrix products; weights and losses stay float32"
    )
    anchor: AnchorPart | None = Field(None, description="pull towards a frozen bot; null: none")
    imitation: ImitationPart | None = Field(
        None, description="imitate an agent at first; null: PPO from the start"
    )


class Sb3Part(Part):
    """sb3-contrib's MaskablePPO through the engine's native VecEnv, against scripted opponents."""

    name: Literal["sb3_maskable_ppo"] = Field(description="this algorithm")
    environments: Batch = Field(256, description="games side by side in the VecEnv")
    steps: Count = Field(64, description="decisions of the learner in a batch, each environment")
    minibatch: Batch = Field(4096, description="decisions in a gradient step")
    epochs: Count = Field(4, description="passes over a batch")
    learning_rate: Positive = Field(1e-3, description="of Adam, falling linearly to 0")
    entropy: float = Field(0.01, ge=0, description="weight of the entropy bonus")
    clip: Positive = Field(0.2, description="how far a step may move a probability's ratio")
    gae_lambda: Fraction = Field(0.95, description="lambda of GAE")
    discount: Fraction = Field(1.0, description="a decision to the learner's next")
    keep_zip: bool = Field(True, description="keep SB3's own zip beside the bot")


class TableMix(Part):
    """One kind of table in the mixture."""

    agent: str = Field(
        description="who sits with the learner: self, population, an AGENT (random, heuristic, "
        "...), a bot or run folder"
    )
    share: float = Field(1.0, ge=0, description="share of games, relative to the other entries")
    final_share: float | None = Field(
        None, ge=0, description="share at the end, reached linearly; null: as at the start"
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
    keep: Annotated[int, Field(ge=2)] = Field(16, description="snapshots at which the pool is full")
    drawn: Count = Field(2, description="members drawn for each batch of games")
    agents: tuple[str, ...] = Field(
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
        if not any(table.share for table in self.tables):
            raise ValueError("tables: at least one share must be above 0")
        return self


class RewardPart(Part):
    """A seat's return at the end of a game."""

    win_share: float = Field(1.0, description="weight of the win share less par")
    margin: float = Field(0.3, description="weight of tanh(margin / margin_scale)")
    margin_scale: Positive = Field(
        25.0, description="points; the margin is the score less the best other seat's"
    )


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


class EvaluationPart(Part):
    """Measuring the bot (greedy) while it trains: one copy among copies of an opponent."""

    every_minutes: Positive = Field(5.0, description="from evaluation to evaluation")
    opponents: tuple[str, ...] = Field(("random",), description="AGENTs to measure against")
    deals: Count = Field(250, description="deals, each played in every seat rotation")
    final_deals: Count = Field(1000, description="deals of the evaluation at the end")
    seed: int = Field(1_000_003, ge=0, description="seed of its deals")


class CheckpointPart(Part):
    """Saving, so that a stopped run can go on."""

    every_minutes: Positive = Field(2.0, description="from checkpoint to checkpoint")
    keep: Annotated[int, Field(ge=2)] = Field(2, description="newest checkpoints that are kept")


class TrainingConfig(Part):
    """A training run."""

    seed: int = Field(1, ge=0, description="of everything that is drawn in the run")
    threads: Annotated[int, Field(ge=1, le=256)] = Field(
        2, description="threads of torch; results are repeatable for an equal number"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the network learns; auto: a GPU if torch finds one"
    )
    game: GamePart = Field(default_factory=GamePart, description="the game")
    network: NetworkPart = Field(default_factory=NetworkPart, description="the network")
    algorithm: Annotated[PpoPart | Sb3Part, Field(discriminator="name")] = Field(
        default_factory=PpoPart, description="how it learns"
    )
    opponents: OpponentsPart = Field(default_factory=OpponentsPart, description="against whom")
    reward: RewardPart = Field(default_factory=RewardPart, description="what it is paid for")
    learn: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="decisions that the learner makes: phases, groups of phases (swap), or a phase "
        "with what an observation block holds (play:hand_sizes=2, the last card played before one "
        "is kept); null: all",
    )
    partner: str | None = Field(
        None, description="AGENT that makes the learner's other decisions; needed with learn"
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


class _UniqueKeys(yaml.SafeLoader):
    """The safe loader, and a key that is given twice is an error instead of the last one's win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_config(path: Path, overrides: Sequence[str] = ()) -> TrainingConfig:
    """Read a config file and apply ``key.path=value`` overrides. Raises `ConfigError`."""
    try:
        data = _UniqueKeys(path.read_text(encoding="utf-8")).get_single_data()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: should hold a mapping with keys like game, network, budget")
    for override in overrides:
        _override(data, override)
    return parse_config(data, str(path))


def parse_config(data: dict[str, Any], where: str) -> TrainingConfig:
    """Validate a config's content; errors name `where`. Raises `ConfigError`."""
    try:
        return TrainingConfig.model_validate(data)
    except ValidationError as error:
        problems = [_problem(data, dict(e)) for e in error.errors(include_url=False)]
        raise ConfigError(f"{where}: {'; '.join(problems)}") from error


def dump_config(config: TrainingConfig) -> str:
    """The resolved config as YAML, every key written out."""
    values = config.model_dump(mode="json")
    return yaml.safe_dump(values, sort_keys=False, width=100, allow_unicode=True)


def _override(data: dict[str, Any], text: str) -> None:
    """Apply one ``a.b=c`` to the raw content; the value is read as YAML."""
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text}: should be key.path=value")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {text}: the value is not YAML") from error
    place: Any = data
    for key in keys[:-1]:
        place = _descend(place, key, text)
    if isinstance(place, list):
        place[_index(place, keys[-1], text)] = parsed
    else:
        place[keys[-1]] = parsed


def _descend(place: Any, key: str, text: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, key, text)]
    inner = place.setdefault(key, {})
    if inner is None:
        inner = place[key] = {}
    if not isinstance(inner, dict | list):
        raise ConfigError(f"--set {text}: {key} holds {inner!r}, which has no parts")
    return inner


def _index(place: list[Any], key: str, text: str) -> int:
    if not key.isdigit() or int(key) >= len(place):
        raise ConfigError(f"--set {text}: {key} should be an entry from 0 to {len(place) - 1}")
    return int(key)


def _problem(data: dict[str, Any], error: dict[str, Any]) -> str:
    """One validation error as `key: value and what is allowed`."""
    names = {"ppo", "sb3_maskable_ppo"}
    location = [str(part) for part in error["loc"] if part not in names]
    key = ".".join(location) or "config"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return f"{key}: unknown key; allowed: {', '.join(allowed_keys(data, location[:-1]))}"
    if error["type"] == "missing":
        return f"{key}: missing; it must be given"
    if error["type"] == "value_error":
        return f"{key}: {message}"
    return f"{key}: {error['input']!r} is wrong: {message[0].lower()}{message[1:]}"


def allowed_keys(data: dict[str, Any], location: Sequence[str]) -> list[str]:
    """Keys that the part at `location` knows."""
    model: type[BaseModel] = TrainingConfig
    for part in location:
        if part.isdigit():
            continue
        model = _part_model(model, part, data)
    return list(model.model_fields)


def _part_model(model: type[BaseModel], key: str, data: dict[str, Any]) -> type[BaseModel]:
    if key == "algorithm":
        name = data.get("algorithm", {}).get("name", "ppo")
        return Sb3Part if name == "sb3_maskable_ppo" else PpoPart
    inner = part_models(model.model_fields[key].annotation)
    return inner[0] if inner else model


def part_models(annotation: Any) -> list[type[Part]]:
    """The config parts named in a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return [annotation]
    arguments = getattr(annotation, "__args__", ())
    return [model for argument in arguments for model in part_models(argument)]
