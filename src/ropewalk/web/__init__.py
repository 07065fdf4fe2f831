"""The console: a federation in a browser, what failures do to it, and what really happens.

Reading order: `gate` (who gets in), `server` (how it starts), `given`; without any browser:
`desk` and `entries` (a text that is edited), `layout` and `scene` (where things are drawn),
`outcome` (what failures do), `region`, `land`; then `map` with `map.js`, `page`, and `panels/`,
one for each tab.
"""
