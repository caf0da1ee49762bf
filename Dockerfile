# CommAnalyzer with everything that it needs: docker build -t commanalyzer .
# Analyse a program of the current folder:
#   docker run --rm -v "$PWD":/work commanalyzer analyze program.c --nodes 4,16 -- 64 10
FROM python:3.11-slim-bookworm

# Compiler, LLVM, METIS and MPI are wheels; as in a checkout, no Debian package is needed.
COPY pyproject.toml README.md LICENSE CITATION.cff /opt/commanalyzer/
COPY commanalyzer /opt/commanalyzer/commanalyzer
COPY runtime_shim /opt/commanalyzer/runtime_shim
COPY workloads /opt/commanalyzer/workloads
RUN pip install --no-cache-dir /opt/commanalyzer

# The first analysis compiles the recorder and the loops of the tool: once here, instead of in every container.
ENV COMMANALYZER_CACHE=/var/cache/commanalyzer/programs \
    ZIG_GLOBAL_CACHE_DIR=/var/cache/commanalyzer/zig \
    NUMBA_CACHE_DIR=/var/cache/commanalyzer/numba
RUN commanalyzer analyze /opt/commanalyzer/workloads/heat2d/heat2d.c --nodes 4 --quiet -- 16 2 \
    && chmod -R a+rwX /var/cache/commanalyzer

WORKDIR /work
USER 1000:1000
ENTRYPOINT ["commanalyzer"]
CMD ["--help"]
