"""Agents: what can sit at a table of the lab, and the referee that compares them.

The package knows a game only by the protocol in `kolkhoz_agents.protocol` (seats, actions, masks,
observations, knowledge, worlds), so that the same registry, search, bots, referee and tournament
serve the next game too. Agents that are written for Kolkhoz alone live in
`kolkhoz_agents.kolkhoz`, shipped bots as data in `kolkhoz_agents/bots`.

Arrows point one way: `kolkhoz_train` -> `kolkhoz_agents` -> a game (`kolkhoz_env`).
"""
