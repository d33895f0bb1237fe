2026-11-22T08:00:14.471379Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.32s
2026-11-22T08:00:14.615312Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.31s
2026-11-22T08:00:14.957198Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.16s
2026-11-22T08:00:15.074303Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.25s
2026-11-22T08:00:15.360934Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.14s
2026-11-22T08:00:15.486264Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.28s
2026-11-22T08:16:53.408887Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.51s
2026-11-22T08:16:53.566589Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.28s
2026-11-22T08:16:53.876086Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.15s
2026-11-22T08:16:54.044226Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.23s
2026-11-22T08:16:54.262651Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
0.14s
2026-11-22T08:16:54.567679Z  INFO sweep completed ended="completed" scanned=0 continued=0 escalated=0 recovered=0 deferred=0 failed=0
with metrics 0.49s
