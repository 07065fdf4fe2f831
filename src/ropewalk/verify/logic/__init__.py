"""The general checker: CTL and LTL with past, over failures, recoveries and what follows from them.

Reading order: `syntax`, `lexing`, `parsing` (formulas), `model` (transition systems); the engine:
`encoding`, `stepping`, `fixpoints`, `branching` (CTL), `tableau` and `fragment` (LTL), `lasso`,
`checking`;
federations: `world`, `asking`, `colours`, `messages`, `clients`, `atoms`, `modelling`; then
`library` (properties by name), `telling`, `answering`.
"""
