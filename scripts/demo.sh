#!/bin/sh
# Audit the sample release and the sample model. Without Pango the PDF is not written, which is told and no failure.
# usage: demo.sh AUDIT
set -u
"$1" run sample_data/release_2 --hierarchy icd9cm \
    --predictions sample_data/predictions.psv --out audit-run --overwrite
status=$?
[ "$status" -eq 3 ] && [ -f audit-run/report.html ] && [ ! -f audit-run/report.pdf ] && exit 0
exit "$status"
