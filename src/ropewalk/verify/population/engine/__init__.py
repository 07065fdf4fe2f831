"""Coverability: can a net reach at least these tokens, however many clients it starts with?

In reading order:

- `verdict`: what an engine may answer, and the evidence for it
- `slicing`: what cannot be marked and what cannot matter is left out first
- `arrays`: a net as arrays, for kernels
- `forward`: all that can be reached, in limits with "any number" in them (Karp and Miller's tree,
  kept small: `forward_tree`, `forward_loops`, `forward_kernels`); `unfolding`, `condensing` and
  `shortening` make a short run in exact numbers of its way to a target
- `backward`: all from which a target can be reached, by smallest demands (`moving`: with transfer
  arcs), pruned by `equation` (linear programs) and `continuous` (rules in fractions)
- `directed`: forward search, led by how much the equation says is left to do
- `plain`: backward search and nothing else, the algorithm of the books: the rival in benchmarks
- `deciding`: slice, then all of them in turns, until one has an answer
"""
