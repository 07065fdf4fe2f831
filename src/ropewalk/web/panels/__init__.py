"""The console's panels, one for each tab: what fails, findings, edit, paths, plans, protocols,
and what really is (`live`, `audit`).

A panel is a function that builds itself where it is called, with the console it belongs to.
"""
