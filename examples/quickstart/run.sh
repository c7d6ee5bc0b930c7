#!/usr/bin/env bash
# Two simulated engines and a gateway on free ports; ask.py talks to the gateway; everything ends with this script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$here/../../.venv/bin/python}
port=${PORT:-28080}
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

"$python" -m engine_adapter.simulated --port $((port + 1)) --model demo &
"$python" -m engine_adapter.simulated --port $((port + 2)) --model demo &
"$python" -m gateway serve --port "$port" \
  --engine "http://127.0.0.1:$((port + 1))" --engine "http://127.0.0.1:$((port + 2))" &

for _ in $(seq 100); do
  "$python" - "$port" <<'PY' && break
import sys, urllib.request
try:
    urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/ready", timeout=1)
except OSError:
    sys.exit(1)
PY
  sleep 0.1
done

"$python" "$here/ask.py" "http://127.0.0.1:$port/v1"
