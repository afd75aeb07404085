#!/bin/bash -eu
# Build all fuzz targets into $OUT, as OSS-Fuzz and ClusterFuzzLite expect it. They set CC, CFLAGS and
# LIB_FUZZING_ENGINE, and provide compile_python_fuzzer.
pip3 install ".[dashboard,images]"
python3 -m tests.fuzz.coverage.build_targets "$OUT"

folder=$(mktemp -d)
for name in $(python3 -c "from tests.fuzz.coverage.python_targets import PYTHON_TARGETS; print(*PYTHON_TARGETS)"); do
    printf 'from tests.fuzz.coverage.python_fuzzer import fuzz\n\nfuzz("%s")\n' "$name" >"$folder/$name.py"
    compile_python_fuzzer "$folder/$name.py" --paths "$PWD" --collect-data arenite
    python3 -m tests.fuzz.coverage.build_targets --corpus-only "$OUT" "$name"
done
