"""PPO: the gradient steps on one batch of decisions, from top to bottom.

The batch (`kept.Batch`) holds the learner's decisions of whole games with their advantages. The
policy is masked: illegal actions have no probability and no gradient. Matrix products run in
bfloat16 (half the time, no loss of strength was seen); losses and weights are float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_env.errors import KolkhozError

from .acting import ILLEGAL
from .config_algorithms import PpoPart
from .kept import Batch


class DivergedError(KolkhozError):
    """A run's weights are no finite numbers any more."""


@dataclass(frozen=True)
class Schedule:
    """Learning rate and entropy weight at this point of the run."""

    learning_rate: float
    entropy: float


def schedule(part: PpoPart, progress: float) -> Schedule:
    """The schedule where `progress` (0 to 1) of the budget is used."""
    progress = min(max(progress, 0.0), 1.0)
    way = {"linear": progress, "cosine": (1 - math.cos(math.pi * progress)) / 2, "constant": 0.0}
    rate = part.learning_rate + way[part.schedule] * (part.final_learning_rate - part.learning_rate)
    return Schedule(rate, part.entropy + progress * (part.final_entropy - part.entropy))


class Ppo:
    """Learns from batches: holds the network, its optimizer and an optional anchor."""

    def __init__(
        self,
        part: PpoPart,
        network: PolicyValueNetwork,
        phases: Sequence[str],
        anchor: PolicyValueNetwork | None = None,
    ) -> None:
        self.part = part
        self.network = network
        self.phases = tuple(phases)
        self.anchor = anchor
        self.optimizer = torch.optim.Adam(
            network.parameters(), lr=part.learning_rate, eps=1e-5, fused=True
        )

    def learn(self, batch: Batch, now: Schedule, generator: torch.Generator) -> dict[str, float]:
        """Several epochs of minibatch steps on `batch`; returns means of what was measured.

        `generator` (on the CPU) shuffles the decisions.
        """
        spread = batch.advantage.std().clamp_min(1e-6)
        advantage = (batch.advantage - batch.advantage.mean()) / spread
        results = self._epochs(
            batch,
            now.learning_rate,
            generator,
            lambda rows: self._step(batch, advantage, rows, now.entropy),
        )
        results["explained_variance"] = explained_variance(batch)
        if self.part.copies > 1:
            results["shared_luck"] = shared_luck(batch)
        return results

    def imitate(self, batch: Batch, rate: float, generator: torch.Generator) -> dict[str, float]:
        """As `learn`, but towards the actions in the batch, whoever made them."""
        return self._epochs(batch, rate, generator, lambda rows: self._copy_step(batch, rows))

    def _epochs(
        self,
        batch: Batch,
        rate: float,
        generator: torch.Generator,
        step: Callable[[Tensor], dict[str, Tensor]],
    ) -> dict[str, float]:
        """Call `step` with the rows of every minibatch; means of what it measured."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        sums: dict[str, Tensor] = {}
        steps = 0
        for _ in range(self.part.epochs):
            order = torch.randperm(len(batch), generator=generator).to(batch.action.device)
            for rows in split(order, self.part.minibatch):
                for name, value in step(rows).items():
                    sums[name] = sums.get(name, torch.zeros(())) + value.cpu()
                steps += 1
        return {name: float(value) / steps for name, value in sums.items()}

    def _step(
        self, batch: Batch, advantage: Tensor, rows: Tensor, entropy_weight: float
    ) -> dict[str, Tensor]:
        """One gradient step of PPO on the decisions `rows`."""
        part = self.part
        observation = batch.observation.index_select(0, rows)
        mask = batch.mask.index_select(0, rows)
        action, phase = batch.action[rows], batch.phase[rows]
        logits, value = self._evaluate(self.network, observation, mask, phase)
        log_probs = torch.log_softmax(logits, 1)

        log_ratio = log_probs.gather(1, action[:, None])[:, 0] - batch.log_prob[rows]
        ratio = log_ratio.exp()
        gain = advantage[rows]
        clipped = ratio.clamp(1 - part.clip, 1 + part.clip)
        policy_loss = -torch.min(gain * ratio, gain * clipped).mean()
        value_loss = functional.mse_loss(value, batch.target[rows])
        entropy = mean_entropy(logits, log_probs)
        loss = policy_loss + part.value_weight * value_loss - entropy_weight * entropy
        if self.anchor is not None and part.anchor is not None:
            with torch.no_grad():
                pull, _ = self._evaluate(self.anchor, observation, mask, phase)
                wanted, pull = torch.softmax(pull, 1), torch.log_softmax(pull, 1)
            divergence = (wanted * (pull - log_probs)).sum(1).mean()
            loss = loss + part.anchor.weight * divergence

        measured = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": ((ratio - 1) - log_ratio).mean(),
            "clipped": (ratio != clipped).float().mean(),
        }
        return self._descend(loss, measured)

    def _copy_step(self, batch: Batch, rows: Tensor) -> dict[str, Tensor]:
        """One gradient step of imitation: cross-entropy to the actions, values to the returns."""
        phase, action = batch.phase[rows], batch.action[rows]
        logits, value = self._evaluate(
            self.network,
            batch.observation.index_select(0, rows),
            batch.mask.index_select(0, rows),
            phase,
        )
        log_probs = torch.log_softmax(logits, 1)
        policy_loss = functional.nll_loss(log_probs, action)
        value_loss = functional.mse_loss(value, batch.target[rows])
        entropy = mean_entropy(logits, log_probs)
        agreed = (log_probs.argmax(1) == action).float().mean()
        measured = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "agreement": agreed,
        }
        loss = policy_loss + self.part.value_weight * value_loss
        return self._descend(loss - self.part.final_entropy * entropy, measured)

    def _descend(self, loss: Tensor, measured: dict[str, Tensor]) -> dict[str, Tensor]:
        """Step down the gradient of `loss`, clipped; adds its norm to what was measured."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        limit = self.part.max_gradient
        measured["gradient"] = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)
        self.optimizer.step()
        return {name: tensor.detach() for name, tensor in measured.items()}

    def _evaluate(
        self, network: PolicyValueNetwork, observation: Tensor, mask: Tensor, phase: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Masked logits float32[n, A] and values float32[n] in the learner's precision."""
        fast = self.part.precision == "bfloat16"
        with torch.autocast(observation.device.type, torch.bfloat16, enabled=fast):
            logits, value = network.forward_counts(observation, phase)
        return logits.float().masked_fill(~mask, ILLEGAL), value.float()


def mean_entropy(logits: Tensor, log_probs: Tensor) -> Tensor:
    """Mean entropy of policies [n, A] given as masked logits and as log-probabilities.

    The softmax of the logits stands for ``log_probs.exp()``, which is ten times slower where
    probabilities vanish, as those of illegal actions do.
    """
    return -(torch.softmax(logits, 1) * log_probs).sum(1).mean()


def split(order: Tensor, size: int) -> Sequence[Tensor]:
    """Minibatches of about `size` rows, as equal as can be, so that none is a small remainder."""
    return torch.tensor_split(order, max(1, round(len(order) / size)))


def explained_variance(batch: Batch) -> float:
    """Share of the variance of the targets that the values explained before learning."""
    spread = batch.target.var()
    return float(1 - (batch.target - batch.value).var() / spread.clamp_min(1e-12))


def shared_luck(batch: Batch) -> float:
    """Share of the advantages' variance that the copies of a deal have taken away."""
    spread = (batch.target - batch.value).var()
    return float(1 - batch.advantage.var() / spread.clamp_min(1e-12))


@torch.no_grad()
def entropy_by_phase(ppo: Ppo, batch: Batch, sample: int = 4096) -> dict[str, float]:
    """Mean entropy of the policy in each phase, over evenly spread decisions of the batch."""
    rows = torch.linspace(0, len(batch) - 1, min(sample, len(batch))).long()
    rows = rows.to(batch.action.device)
    phase = batch.phase[rows]
    logits, _ = ppo._evaluate(
        ppo.network, batch.observation.index_select(0, rows), batch.mask[rows], phase
    )
    entropy = -(torch.softmax(logits, 1) * torch.log_softmax(logits, 1)).sum(1)
    results = {}
    for number, name in enumerate(ppo.phases):
        chosen = phase == number
        if bool(chosen.any()):
            results[name] = float(entropy[chosen].mean())
    return results


def optimizer_tensors(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """The optimizer's state as named tensors, for a checkpoint."""
    return {
        f"{name}/{key}": torch.as_tensor(value).detach().cpu().clone()
        for name, parameter in network.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def load_optimizer(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `optimizer_tensors` gave. Raises KeyError if one is missing."""
    for name, parameter in network.named_parameters():
        state = optimizer.state[parameter]
        for key in ("step", "exp_avg", "exp_avg_sq"):
            # The number of steps too: fused, it is counted where the weights are.
            state[key] = tensors[f"{name}/{key}"].clone().to(parameter.device)
