"""Training, export, serving and the command line of the lab.

A run goes from a config file (`config`, `checks`) through self-play on the vectorised engine
(`opponents`, `rollout`, `kept`, `ppo`, put together by `trainer`) to checkpoints and a bot folder,
and from there to a bundle for other front ends (`export`). The commands in `cli` are thin: each
reads its arguments and calls one function of the package.

torch and the other large packages are imported where they are used: importing this package needs
the base install alone.
"""
