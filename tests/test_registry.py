"""Agents by name: what can be written, and what a wrong text is answered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from toy_game import make_game as make_toy

from kolkhoz_agents import registry
from kolkhoz_agents.errors import AgentError, EvaluationError
from kolkhoz_agents.games import make_game
from kolkhoz_agents.options import check_options, split_options
from kolkhoz_agents.protocol import Agent, Option
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.registry import agent_kinds, make_agent
from kolkhoz_env.errors import KolkhozError
from kolkhoz_train.cli.main import main


class Tuned(RandomAgent):
    """A random agent with options of every kind."""

    options: ClassVar[tuple[Option, ...]] = (
        Option("depth", int, 2, "how deep", minimum=1),
        Option("share", float, 0.5, "how much"),
        Option("loud", bool, False, "says what it does"),
        Option("style", str, "calm", "how it plays", choices=("calm", "bold")),
        Option("goal", str, None, "what it wants", required=True),
    )

    def __init__(self, game: Any, **options: Any) -> None:
        super().__init__(game)
        self.given = options


class Loose:
    """An agent that declares nothing."""

    name = "loose"
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, game: Any, depth: int = 1, style: str = "calm", loud: bool = False) -> None:
        self.given = (depth, style, loud)

    def act(self, decisions: Any) -> np.ndarray:
        return np.argmax(decisions.mask, axis=1)


class Greedy4All(RandomAgent):
    """An agent that needs what there is not."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.needs = frozenset({"everything"})


def no_agent(game: Any) -> object:
    return object()


def test_options_become_values_of_their_kinds() -> None:
    game = make_toy()
    agent: Any = make_agent("test_registry:Tuned:goal=win,depth=3,share=0.25,loud=yes", game)
    assert agent.given == {
        "depth": 3, "share": 0.25, "loud": True, "style": "calm", "goal": "win",
    }  # fmt: skip


def test_an_undeclared_factory_gets_plain_values() -> None:
    agent: Any = make_agent("test_registry:Loose:depth=3,style=bold,loud=true", make_toy())
    assert agent.given == (3, "bold", True)
    with pytest.raises(AgentError, match="its factory refused the options"):
        make_agent("test_registry:Loose:size=3", make_toy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an agent's name is missing"),
        ("rendom", "unknown agent 'rendom'; did you mean 'random'\\? allowed: random"),
        ("random:", None),
        ("random:speed=3", "agent 'random:speed=3': unknown option 'speed'; allowed: none"),
        ("random:speed", "'speed' should have the form option=value"),
        ("test_registry:Tuned", "option 'goal' is missing: what it wants"),
        ("test_registry:Tuned:goal=x,depth=two", "option depth=two should be a whole number"),
        ("test_registry:Tuned:goal=x,depth=0", "option depth=0 should be at least 1"),
        ("search:worlds=20001", "option worlds=20001 should be at most 20000"),
        ("test_registry:Tuned:goal=x,share=half", "option share=half should be a finite num"),
        ("test_registry:Tuned:goal=x,loud=maybe", "option loud=maybe should be true or false"),
        ("test_registry:Tuned:goal=x,style=odd", "style=odd should be one of: calm, bold"),
        ("test_registry:Tuned:goal=x,deph=1", "unknown option 'deph'; did you mean 'depth'\\?"),
        ("test_registry:Tuned:goal=x,goal=y", "option 'goal' is given twice"),
        ("test_registry:Tuned:goal=(x", "the parentheses in 'goal=\\(x' don't match"),
        ("test_registry:Nobody", "module 'test_registry' has no 'Nobody'"),
        ("no_such.module:Agent", "there is no module 'no_such' on the Python path"),
        ("test_registry:no_agent", "the object has no 'name'; an agent has it"),
        ("test_registry:Greedy4All", "unknown need 'everything'; allowed: knowledge, observ"),
        ("runs/nowhere", "there is no bot or run folder 'runs/nowhere'"),
        ("mix:rest=rendom", "unknown agent 'rendom'"),
        ("greedy", "agent 'greedy' plays kolkhoz, not toy"),
    ],
)
def test_a_wrong_text_gives_one_clear_line(text: str, message: str | None) -> None:
    if message is None:
        assert make_agent(text, make_toy()).name == "random"
        return
    with pytest.raises(AgentError, match=message) as caught:
        make_agent(text, make_toy())
    assert "\n" not in str(caught.value)


def test_parentheses_keep_commas_together() -> None:
    assert split_options("a=1,b=(x:c=2,d=(y,z)),e=5", "w") == {
        "a": "1", "b": "x:c=2,d=(y,z)", "e": "5",
    }  # fmt: skip
    assert split_options("a=(b)(c)", "w") == {"a": "(b)(c)"}
    assert check_options({}, (Option("a", int, 4, ""),), "w") == {"a": 4}


def test_a_folder_without_a_bot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"has neither bot\.json nor bot/bot\.json"):
        make_agent(str(tmp_path), make_toy())


def test_a_package_of_the_current_folder_may_hold_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_players").mkdir()
    (tmp_path / "my_players" / "__init__.py").write_text(
        "from kolkhoz_agents.random_agent import RandomAgent as Mine\n\n"
        "def fussy(game, noise):\n    raise ValueError(f'{noise} is no noise')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert make_agent("my_players:Mine", make_toy()).name == "random"
    with pytest.raises(AgentError, match="its factory refused the options: abc is no noise"):
        make_agent("my_players:fussy:noise=abc", make_toy())
    with pytest.raises(AgentError, match="has neither"):
        make_agent("my_players", make_toy())


def test_a_home_that_nobody_has_is_a_wrong_path() -> None:
    with pytest.raises(AgentError, match="there is no bot or run folder"):
        make_agent("~nobody-at-all/bot", make_toy())


def test_a_damaged_bot_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.json").write_text("{}")
    for text in (str(tmp_path), str(tmp_path / "bot"), f"{tmp_path}:temperature=1"):
        with pytest.raises(KolkhozError, match=r"bot\.json: format"):
            make_agent(text, make_toy())
    with pytest.raises(AgentError, match="option temperature=-1 should be at least 0"):
        make_agent(f"{tmp_path}:temperature=-1", make_toy())
    with pytest.raises(AgentError, match=r"option temperature=1e300 should be at most"):
        make_agent(f"{tmp_path}:temperature=1e300", make_toy())
    monkeypatch.setattr(registry, "BOTS", tmp_path)
    assert registry.shipped_bots() == ["bot"]
    with pytest.raises(KolkhozError, match=r"bot\.json: format"):
        make_agent("bot", make_toy())


def test_every_listed_agent_can_be_made() -> None:
    game = make_game("kolkhoz")
    names = [kind.name for kind in agent_kinds(game)]
    assert names[:3] == ["random", "greedy", "heuristic"]
    for kind in agent_kinds(game):
        assert kind.help
        text = "mix:rest=random" if kind.name == "mix" else kind.name
        agent = make_agent(text, game)
        assert isinstance(agent, Agent)
        for option in kind.options:
            assert option.help
            assert option.kind in (int, float, bool, str)
            assert option.default is None or isinstance(option.default, option.kind)
    assert "greedy" not in [kind.name for kind in agent_kinds(make_toy())]


def test_the_command_lists_agents_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    shown = capsys.readouterr().out
    assert "random  a uniformly random legal action" in shown
    assert "    swap=TEXT  the agent for swap_take and swap_give" in shown
    assert main(["agents", "--json", "--game", "toy_game:make_game"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["game"] == "toy"
    mix = next(entry for entry in listed["agents"] if entry["agent"] == "mix")
    assert [option["name"] for option in mix["options"]] == ["trump", "play", "rest"]


def test_a_wrong_game_is_refused() -> None:
    with pytest.raises(EvaluationError, match="unknown game 'chess'; allowed: kolkhoz"):
        make_game("chess")
    with pytest.raises(EvaluationError, match="there is no module 'no_such'"):
        make_game("no_such.game:make")
    with pytest.raises(KolkhozError, match="colour"):
        make_game("kolkhoz", {"colour": "red"})


def test_random_is_uniform() -> None:
    game = make_toy()
    agent = RandomAgent(game)
    table = game.table(0, np.arange(6000))
    from kolkhoz_agents.referee import make_decisions

    rows = np.arange(6000)
    decisions = make_decisions(game, table, rows, table.legal_mask(), 1, frozenset())
    actions = agent.act(decisions)
    counts = np.bincount(actions, minlength=15)[12:]
    assert (np.abs(counts - 2000) < 150).all()
    log_probs = agent.log_probs(decisions)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1, rtol=1e-5)
    assert np.isneginf(log_probs[~decisions.mask]).all()
