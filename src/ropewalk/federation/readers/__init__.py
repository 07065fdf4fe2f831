"""Brokers' own configuration files to one federation, with the file and line of every fact.

In reading order: `drafts` (what a file says), `view` and `json_text` (values with lines, and what
nobody asked for), `recognise` (whose file it is), one package or module per family, `shell`,
`growing` and `scripted` (what scripts leave behind), `others` (what is no configuration, and what
to do with it), `servers`, `whose` and `joining` (addresses to brokers, several files to one
federation), `clashes` and `nats_clashes` (what files say against each other), `reading` (files and
folders).
"""
