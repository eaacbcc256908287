#!/usr/bin/env bash
# Writes components/monitoring/alerts.yaml: the alerts of deploy/prometheus/alerts.yml as a PrometheusRule.
set -euo pipefail
cd "$(dirname "$0")"
{
  printf '%s\n' "# Written by write-alerts.sh from deploy/prometheus/alerts.yml." \
    "apiVersion: monitoring.coreos.com/v1" "kind: PrometheusRule" "metadata:" "  name: fx-alerts" "spec:"
  sed -n '/^groups:/,$ s/^/  /p' ../prometheus/alerts.yml
} > components/monitoring/alerts.yaml
