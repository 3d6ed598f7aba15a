# Source this file to run programs from a checkout: it puts the repository's virtual environment on PATH, if there is
# one, and the repository on PYTHONPATH unless pfcomp is installed. After `pip install .` it is not needed. It may be
# sourced from any folder, twice, and under `set -eux`, by bash and zsh.
_pfcomp_root=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)
for _pfcomp_bin in "$_pfcomp_root/.venv/bin" "$_pfcomp_root/.quickstart/venv/bin"; do
    case ":$PATH:" in
        *":$_pfcomp_bin:"*) ;;
        *) if [ -x "$_pfcomp_bin/python3" ]; then export PATH="$_pfcomp_bin:$PATH"; fi ;;
    esac
done
if ! (cd / && python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pfcomp") is None)'); then
    export PYTHONPATH="$_pfcomp_root${PYTHONPATH:+:$PYTHONPATH}"
fi
unset _pfcomp_root _pfcomp_bin
