"""``python -m commanalyzer``."""

from commanalyzer.cli.entry import main

raise SystemExit(main())
