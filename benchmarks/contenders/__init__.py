"""What users run between brokers, and Ropewalk, each put through the same faults.

Reading order: `shapes` (the federations), `rig` (brokers without agents, all links through the
lab's fault proxy), `peers` (how each of them is configured), `ours` (Ropewalk in its lab), `trial`
(one fault while numbers are published), `summary` (medians, ratios, the table), `saturation` and
`fast_mqtt` (clients that are no bottleneck).
"""
