#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Grafana dashboard against a real Prometheus that scrapes a real gpushared: each panel and each variable gets something.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v prometheus >/dev/null || skip_all "prometheus is not installed: what the dashboard asks was not tried on it"
need_built gpushared gpusharectl testsuite/e2e/until .libs/fake_nvml.so
own_daemon
DASHBOARD=$SRC/contrib/grafana/gpushare-grafana.json
UNTIL=$BUILD/testsuite/e2e/until
export FAKE_NVML=$TMP/nvml FAKE_NVML_WATTS=300
: >"$FAKE_NVML"
write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv \
	"MemoryParameters=check=200ms,nvml=$BUILD/.libs/fake_nvml.so"
check "gpushared starts" start_daemon

# What node_exporter's textfile collector would hand out; the port is the server's choice.
"$PYTHON" -I -S - "$TMP/port" <<'PY' >"$TMP/http.out" 2>&1 &
import http.server, os, subprocess, sys
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = subprocess.run(["gpusharectl", "metrics"], stdout=subprocess.PIPE, timeout=5).stdout
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text)
server = http.server.HTTPServer(("127.0.0.1", 0), Metrics)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
PY
pids+=($!)
until_true 10 test -s "$TMP/port"
cat >"$TMP/prometheus.yml" <<END
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: gpushare
    honor_labels: true
    static_configs: [ { targets: [ "127.0.0.1:$(cat "$TMP/port")" ], labels: { instance: node01 } } ]
END
check "promtool has nothing to say of the metrics" eval "t 5 gpusharectl metrics | timeout 20 promtool check metrics"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/tsdb" --web.listen-address="127.0.0.1:$port" >"$TMP/prometheus.log" 2>&1 &
pids+=($!)
URL=http://127.0.0.1:$port

: >"$TMP/more"
# In the background only: nothing is left of it once its process has been killed.
job() { exec timeout 120 gpusharectl run --shares 20 --mem 64M --partition "$@" >>"$TMP/jobs.out" 2>&1; }
job low -- sleep 100 & sleeper=$!
pids+=($sleeper)
known() { asleep=$(newest_job low) && [ "$asleep" != none ]; }
check "a job that does nothing" until_true 20 known
job low -- "$UNTIL" "$TMP/more" & low=$!
check "another one computes" until_true 20 computes 50 "$asleep" low
job high -- "$UNTIL" "$TMP/more" & high=$!
check "one that is more urgent, too" until_true 20 computes 50 none high
ready() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/-/ready", timeout=2)' "$URL" 2>/dev/null; }
check "Prometheus serves" until_true 30 ready
# A rate needs several samples.
asked() { t 60 python3 "$SRC/testsuite/e2e/dashboard_queries" "$DASHBOARD" "$URL" >"$TMP/asked" 2>&1; }
shown() { until_true 30 asked; local rc=$?; cat "$TMP/asked"; [ $rc = 0 ] || tail -n 5 "$TMP/prometheus.log"; return $rc; }
check "each panel and each variable of the dashboard gets what it asks for" shown
rm "$TMP/more"
wait $low $high
kill $sleeper 2>/dev/null
check "gpushared stops" stop_daemon
finish
