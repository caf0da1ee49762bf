"""An mpi4py program: numpy buffers, pickled objects, Python's own collectives."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
x, y = np.arange(10.0), np.empty(10)
world.Sendrecv(x, (rank + 1) % size, 0, y, (rank - 1) % size, 0)
world.Allreduce(MPI.IN_PLACE, x)
