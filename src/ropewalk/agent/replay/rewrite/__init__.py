"""Users' files rewritten for the lab: text in, text out, and what was left out of it.

`notes` collects what was left out; `mosquitto`, `nats` (with `nats_logins`, `nats_text`) and
`rabbitmq` know their make's files. No name, password or token of a user's file is kept.
"""
