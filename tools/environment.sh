# Sourced by tools/quickstart and tools/test: picks a Python and makes a virtual environment with pinned versions.
# Usage: make_environment FOLDER REQUIREMENT...   (such as `.` or `-e .[test]`); leaves $python set to its own.

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "error: no Python 3.11 or newer found; install one or set PYTHON=/path/to/python" >&2
    return 1
}

make_environment() {
    local folder=$1 base log
    shift
    base=$(find_python) || return 1
    if [ ! -x "$folder/bin/python" ]; then
        "$base" -m venv "$folder" || { rm -rf "$folder"; return 1; }
    fi
    python=$folder/bin/python
    log=$folder/install.log
    if ! "$python" -m pip install --disable-pip-version-check --quiet -c constraints.txt "$@" >"$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
}
