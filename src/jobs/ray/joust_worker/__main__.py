import sys

from joust_worker.driver import main

sys.exit(main())
