"""The command `kolkhoz`: one module a command, listed in `kolkhoz_train.cli.main.COMMANDS`."""
