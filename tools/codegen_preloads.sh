# Scripts written for the vendor's SDK source this file to preload its libraries. There is nothing to preload here; it
# exists so that such scripts run unchanged. It may be sourced from any folder, twice, and under `set -eux`.
:
