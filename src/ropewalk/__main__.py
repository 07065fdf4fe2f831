"""`python -m ropewalk` is the command line."""

from ropewalk.cli import main

main()
