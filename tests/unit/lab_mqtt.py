"""Two MQTT clients, one of them an agent, who publish and listen to everything."""

from queue import Queue
from typing import Any

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from ropewalk.agent.lab.makes.recipe import Login, Users
from ropewalk.agent.lab.ports import HOST

SOON_S = 10


class Listener:
    """A client that is subscribed to everything."""

    def __init__(self, port: int, login: Login) -> None:
        self.heard: Queue[tuple[str, bytes]] = Queue()
        self.closed: Queue[None] = Queue()
        self._subscribed: Queue[None] = Queue()
        self.client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        self.client.username_pw_set(login.user, login.password)
        self.client.on_message = lambda _c, _u, one: self.heard.put((one.topic, bytes(one.payload)))
        self.client.on_subscribe = lambda *_: self._subscribed.put(None)
        self.client.on_disconnect = lambda *_: self.closed.put(None)
        self.client.connect(HOST, port)
        self.client.loop_start()
        self.client.subscribe("#", qos=1)
        self._subscribed.get(timeout=SOON_S)

    def until(self, topic: str) -> dict[str, bytes]:
        """All that came up to a topic."""
        heard: dict[str, bytes] = {}
        while topic not in heard:
            name, payload = self.heard.get(timeout=SOON_S)
            heard[name] = payload
        return heard

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def heard_by_client_and_agent(port: int, users: Users) -> Any:
    """What each hears when the agent sends a word, a client forges one, and another says `open`.

    Mosquitto closes the connection of whoever publishes what he may not.
    """
    client, agent = Listener(port, users.client), Listener(port, users.agent)
    forger = Listener(port, users.client)
    agent.client.publish("_rw/b", b"word", qos=1).wait_for_publish(SOON_S)
    forger.client.publish("_rw/b", b"forged", qos=0)
    forger.closed.get(timeout=SOON_S)
    client.client.publish("open", b"to all", qos=1)
    heard = client.until("open"), agent.until("open")
    for one in (client, agent, forger):
        one.close()
    return heard
