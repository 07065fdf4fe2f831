"""Brokers' own configuration files, written from a federation.

`design` turns links and topics into bridges that make no loop; one module per make writes them.
"""
