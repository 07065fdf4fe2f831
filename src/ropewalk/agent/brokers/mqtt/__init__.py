"""Mosquitto over MQTT 5, with an own codec: an agent's connections to its broker and to others.

Reading order: `properties` and `headers` (what travels with a packet), `packets` (bytes to packets
and back), `connection` (one TCP or TLS connection), `line` (one that comes back), `intake` and
`outbox` (both directions' promises), `figures` and `watch` (what the broker tells about itself),
`local` and `lane` (the contract).

What a broker beside an agent needs in its `mosquitto.conf`: `persistence true`, so that what it has
promised outlives it; `max_queued_messages 0`, because by default it drops whatever lies beyond the
1,000th message that the agent has not yet taken; `max_inflight_messages 0`, because by default it
takes only 20 deliveries at a time; `set_tcp_nodelay true`, without which small words wait 40 ms.
Where its clients' subscriptions shall be seen as they change: `log_dest topic` with `log_type
subscribe`, `log_type unsubscribe` and `log_type notice`.
"""

from ropewalk.agent.brokers.mqtt.lane import MqttLane
from ropewalk.agent.brokers.mqtt.local import MqttLocal

__all__ = ["MqttLane", "MqttLocal"]
