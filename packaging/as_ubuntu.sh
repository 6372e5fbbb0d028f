#!/bin/sh
# Writes compilers into a folder that do what Ubuntu's do by themselves: gcc, g++, cc and c++ of the given version, with
# its hardening before the user's flags, and its linker's. With STATIC=1, the C++ library is the static one unless it is
# named, as on systems without libstdc++.so.
#   sh packaging/as_ubuntu.sh build/ubuntu 13; PATH="$PWD/build/ubuntu:$PATH" make demo
set -eu
[ $# -eq 2 ] || { echo "usage: as_ubuntu.sh FOLDER VERSION" >&2; exit 2; }
mkdir -p "$1"
for name in gcc g++; do
    real=$(command -v "$name-$2") || { echo "as_ubuntu: there is no $name-$2" >&2; exit 1; }
    cat >"$1/$name" <<WRAPPER
#!/bin/sh
fortified=
for flag; do
    case \$flag in
    -O0) fortified= ;;
    -O*) fortified=-D_FORTIFY_SOURCE=3 ;;
    esac
done
exec "$real" \$fortified -fstack-protector-strong -fstack-clash-protection -fcf-protection -Wformat -Wformat-security \\
    -Wl,-z,now -Wl,-z,relro -Wl,--as-needed ${STATIC:+-static-libstdc++} "\$@"
WRAPPER
    chmod +x "$1/$name"
done
ln -sf gcc "$1/cc"
ln -sf g++ "$1/c++"
