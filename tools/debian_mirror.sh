#!/bin/sh
# Where this machine's own apt fetches Debian from; nothing where it does not (mmdebstrap then takes Debian's own default).
apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/*$' || true
