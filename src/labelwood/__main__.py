"""`python -m labelwood` is the `labelwood` command."""

from labelwood.cli.main import main

main()
