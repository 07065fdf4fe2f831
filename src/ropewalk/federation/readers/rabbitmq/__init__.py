"""RabbitMQ's own files: exports of definitions, rabbitmq.conf, Erlang terms, and scripts.

In reading order: `uris` and `naming` (addresses; exchanges and keys as topics), `contents` (what a
cluster has), `policies`, `refused` and `upstreams`, `examples`, `stand_ins` and `federated` (the
links), `shovel_ends` and `shovels`, `leftovers` (what is told and not modelled), `definitions` (the
whole of an export), `several` and `siblings` (exports of several files); `conf`, and `terms`,
`declared` and `erlang` (static shovels). What commands change: `options`, `requests` and `admin`
(how tools are called), `commands`, `targets` and `containers` (at which server), `scripts`.
"""

from ropewalk.federation.readers.rabbitmq.conf import read_rabbitmq_conf
from ropewalk.federation.readers.rabbitmq.definitions import read_rabbitmq
from ropewalk.federation.readers.rabbitmq.erlang import read_erlang
from ropewalk.federation.readers.rabbitmq.scripts import read_script

__all__ = ["read_erlang", "read_rabbitmq", "read_rabbitmq_conf", "read_script"]
