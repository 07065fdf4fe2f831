"""RabbitMQ's own files: exports of definitions, rabbitmq.conf, and Erlang terms.

In reading order: `uris` and `naming` (addresses; exchanges and keys as topics), `contents` (what a
cluster has), `policies` and `upstreams`, `federated` (the links), `shovel_ends` and `shovels`,
`leftovers` (what is told and not modelled), `definitions` (the whole of an export); `conf`, and
`terms` and `erlang` (static shovels).
"""

from ropewalk.federation.readers.rabbitmq.conf import read_rabbitmq_conf
from ropewalk.federation.readers.rabbitmq.definitions import read_rabbitmq
from ropewalk.federation.readers.rabbitmq.erlang import read_erlang

__all__ = ["read_erlang", "read_rabbitmq", "read_rabbitmq_conf"]
