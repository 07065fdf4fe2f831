"""The console: a federation in a browser, what failures do to it, and what really happens.

Reading order: `gate` (who gets in), `server` (how it starts), `given`; without any browser:
`desk`, `entries` and `saving` (a text that is edited), `layout` and `scene` (where things are
drawn), `outcome` (what failures do), `region`, `land`; what files say: `plans`, `audits`,
`protocols` with `diagram`, `recorded` (conversations of a trace) and `stepping`; what agents say:
`live`, `sse`, `watcher`; then `map` with `map.js`, `page`, and `panels/`, one for each tab.
"""
