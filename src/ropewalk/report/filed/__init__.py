"""A report that can be filed: one HTML page that needs nothing else, and the same as data.

Reading order: `blocks` (what a page is made of), `words` (figures for people), `facts` (what is
gathered), `described`, `proved`, `planned`, `observed` (a chapter each), `documents` (what verbs
printed) with `judged`, `ways`, `driven`, `measured` and `plainly` (layouts), `graph` and `charts`
(drawn), `whole` (all of it, and its verdict), `page` (HTML), `told` (for a terminal). `gather` and
`sources` alone read files.
"""
