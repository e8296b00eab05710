# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop over the trials of a row whose script calls its program by python_trials (python_rows.sh)."""
import os
import time


def make_trials(trial, n, seed):
    """Calls trial(index) for n indices from seed - 1 on, until CAMPAIGN_UNTIL; it returns what went wrong, or "". An exception went
    wrong, too: the daemon may be gone, for instance."""
    made, until = 0, int(os.environ.get("CAMPAIGN_UNTIL", 2 ** 40))
    for index in range(seed - 1, seed - 1 + n):
        if time.time() >= until:
            break
        made += 1
        try:
            wrong = trial(index)
        except Exception as error:
            wrong = "%s: %s" % (type(error).__name__, error)
        if wrong:
            print("trial %d: %s" % (made, wrong), flush=True)
    print(made, flush=True)
