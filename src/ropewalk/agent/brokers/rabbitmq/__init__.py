"""RabbitMQ (AMQP 0-9-1): an agent at its own broker, and its lanes to neighbours' brokers.

Reading order: `frames` and `properties` (bytes there and back), `wire` (one connection), `ledger`
(what was acknowledged and confirmed), `layout` (exchanges and queues), `post` (to clients),
`local`, `management` (subscriptions and figures), `lane`.
"""

try:
    import pamqp  # noqa: F401
except ImportError as missing:
    from ropewalk.errors import UsageError

    raise UsageError(
        "RabbitMQ brokers need one more package: pip install 'ropewalk[rabbitmq]'"
    ) from missing

from ropewalk.agent.brokers.rabbitmq.lane import RabbitLane
from ropewalk.agent.brokers.rabbitmq.local import RabbitLocal

__all__ = ["RabbitLane", "RabbitLocal"]
