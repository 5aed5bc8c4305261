"""Where the configs are that come with the lab."""

from __future__ import annotations

from pathlib import Path


def config_folder() -> Path:
    """The folder of the shipped configs: in the installed package, or at the top of a checkout."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "configs"


def find_config(text: str) -> Path:
    """The config that `text` means: a file, or the name of a shipped config.

    `quickstart`, `quickstart.yaml` and `configs/quickstart.yaml` all mean the shipped one where no
    file of that name exists. A path that matches nothing is returned as it is, for the reader to
    complain about.
    """
    path = Path(text)
    if path.exists() or path.parent not in (Path("."), Path("configs")):
        return path
    name = path.name if path.suffix in (".yaml", ".yml") else f"{path.name}.yaml"
    shipped = config_folder() / name
    return shipped if shipped.is_file() else path
