"""``python -m commanalyzer``."""

from commanalyzer.cli.main import main

raise SystemExit(main())
