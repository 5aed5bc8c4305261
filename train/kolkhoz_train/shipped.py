"""Where the configs are that come with the lab."""

from __future__ import annotations

from pathlib import Path

from kolkhoz_env.errors import KolkhozError


def config_folder() -> Path:
    """The folder of the shipped configs: in the installed package, or at the top of a checkout."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "configs"


def config_names() -> list[str]:
    """Names of the shipped configs."""
    return sorted(path.stem for path in config_folder().glob("*.yaml"))


def find_config(text: str) -> Path:
    """The config that `text` means: a file, or the name of a shipped config.

    `quickstart`, `quickstart.yaml` and `configs/quickstart.yaml` all mean the shipped one where no
    file of that name exists.

    Raises:
        KolkhozError: there is neither; names the shipped ones.
    """
    path = Path(text)
    if path.is_file():
        return path
    name = path.name.removesuffix(".yaml").removesuffix(".yml")
    if path.parent in (Path("."), Path("configs")) and name in config_names():
        return config_folder() / f"{name}.yaml"
    problem = "is a folder and should be a file" if path.is_dir() else "no such file"
    raise KolkhozError(
        f"{text}: {problem}; shipped configs, which go by name, are {', '.join(config_names())}"
    )
