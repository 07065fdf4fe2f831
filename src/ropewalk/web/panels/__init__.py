"""The console's panels, one for each tab.

What fails, findings, edit, paths, placement, protocols, and what really is (`live`, `audit`). A
panel is a function that builds itself where it is called, with the console that it belongs to.
"""
