"""Real brokers for a test, by make."""

from tests.conformance.makes import Broker, Client, Got, Make, free_port, running
from tests.conformance.mosquitto import MOSQUITTO, Paho
from tests.conformance.nats_broker import NATS

MAKES = {"nats": NATS, "mosquitto": MOSQUITTO}

__all__ = ["MAKES", "Broker", "Client", "Got", "Make", "Paho", "free_port", "running"]
