#!/bin/sh
# Create a virtual environment, or say the one line that makes it possible.
# usage: make_venv.sh PYTHON FOLDER
set -eu
python=$1
folder=$2

if ! command -v "$python" >/dev/null 2>&1; then
    echo "Error: $python is not there. Install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..." >&2
    exit 2
fi
if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'; then
    echo "Error: Python 3.11, 3.12, 3.13 or 3.14 is required; $python is $("$python" -V 2>&1)." >&2
    echo "Hint: on Debian 12 or Ubuntu 24.04: sudo apt-get install -y python3; on macOS: brew install python@3.14" >&2
    echo "      then name it: make PYTHON=python3.14 ..." >&2
    exit 2
fi
if ! "$python" -c 'import venv; from ensurepip import version' >/dev/null 2>&1; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "Error: this Python has no venv module." >&2
    echo "Hint: sudo apt-get install -y python$version-venv" >&2
    exit 2
fi
if ! "$python" -m venv "$folder"; then
    rm -rf "$folder"
    exit 2
fi
# Python 3.11 brings a setuptools of years ago, which nothing here uses.
if "$folder/bin/python" -c 'import setuptools' 2>/dev/null; then
    "$folder/bin/python" -m pip --disable-pip-version-check --quiet uninstall --yes setuptools
fi
