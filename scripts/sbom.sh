#!/usr/bin/env bash
# Write what is installed in production, by its lock file, as a CycloneDX document. Needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
awk '
  BEGIN { printf "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.6\",\"version\":1,"
          printf "\"metadata\":{\"component\":{\"type\":\"application\",\"name\":\"tomannot\"}},\"components\":[" }
  /^[A-Za-z0-9]/ {
    split($1, parts, "=="); name = tolower(parts[1]); sub(/\[.*/, "", name); version = parts[2]
    purl = "pkg:pypi/" name "@" version
    printf "%s\n{\"type\":\"library\",\"bom-ref\":\"%s\",\"name\":\"%s\",\"version\":\"%s\",\"purl\":\"%s\",\"hashes\":[",
      components++ ? "]}," : "", purl, name, version, purl
    hashes = 0
  }
  /--hash=sha256:/ {
    match($0, /sha256:[0-9a-f]+/)
    printf "%s{\"alg\":\"SHA-256\",\"content\":\"%s\"}", hashes++ ? "," : "", substr($0, RSTART + 7, RLENGTH - 7)
  }
  END { print components ? "]}" : ""; print "]}" }
' requirements/base.txt
