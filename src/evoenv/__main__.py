from evoenv.cli import main

raise SystemExit(main())
