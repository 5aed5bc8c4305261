"""The environment page is current, and what it shows runs."""

import re
import runpy
from pathlib import Path

import pytest

from kolkhoz_env.documentation import environment_page, main
from kolkhoz_env.observation import observation_table
from kolkhoz_env.rules import Rules

PAGE = Path(__file__).parents[1] / "docs" / "environment.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", environment_page(), flags=re.DOTALL)


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == environment_page(), (
        "run: python -m kolkhoz_env.documentation docs/environment.md"
    )


def test_it_is_written_whole(tmp_path: Path) -> None:
    main(str(tmp_path / "page.md"))
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_every_block_and_rule_stands_there() -> None:
    text = environment_page()
    for block in observation_table(Rules()).blocks:
        assert f"| `{block.name}` | {block.offset}" in text
    for rule in Rules().to_dict():
        assert f"| `{rule}` |" in text


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number: int, tmp_path: Path) -> None:
    # Learning itself is tested elsewhere.
    code = EXAMPLES[number].replace("learner.learn(100_000)", "")
    (tmp_path / "example.py").write_text(code)
    assert runpy.run_path(str(tmp_path / "example.py"))
