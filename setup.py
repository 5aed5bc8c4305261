"""Where the packages of the one distribution lie; everything else is in pyproject.toml.

The three packages live in folders of their own (`kolkhoz_env`, `agents/kolkhoz_agents`,
`train/kolkhoz_train`), and the configs of the top folder are installed as data of
`kolkhoz_train`: pyproject.toml alone cannot say both.
"""

from setuptools import find_packages, setup

FOLDERS = {"kolkhoz_env": ".", "kolkhoz_agents": "agents", "kolkhoz_train": "train"}
CONFIGS = "kolkhoz_train.configs"

packages = [
    package
    for name, folder in FOLDERS.items()
    for package in find_packages(folder, include=[name, f"{name}.*"])
]
package_dir = {name: f"{folder}/{name}".removeprefix("./") for name, folder in FOLDERS.items()}

setup(packages=[*packages, CONFIGS], package_dir={**package_dir, CONFIGS: "configs"})
