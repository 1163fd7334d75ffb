"""Records on several machines: each worker holds its clipped integer shard, and the curator alone draws noise.

``fit`` of the private estimators, scalers and searches takes dask arrays and data frames, or what :func:`from_dask` and
:func:`from_spark` make. The model is the one of the records in memory, bit for bit for a seed, whatever the number of
workers, and also where workers are lost in the middle of a fit. Mechanisms that go through all records at once refuse
them, as they refuse blocks in files.

**Who sees what.**

- *Workers* hold raw parts while they read them, and clipped integers of two bytes an entry for as long as a fit lasts.
  They hear what is public: schemas, coefficients, maps. Each answers sums of integers over its records, and how many
  these are. No record leaves a worker by our doing, and no noise is drawn there. (Raw parts move as dask or Spark move
  them, before they are read.)
- *The curator*, the process that calls ``fit``, sees these sums, which are **not private**, adds them up, checks their
  number and their range, and draws all noise. Only what it releases may leave.
- *The transport* (dask's scheduler, Spark's driver, the network) carries sums, and lies within the boundary with the
  workers and the curator: encrypt it (TLS of dask or Spark). Whoever reads it, or runs code on a worker, sees what is
  not private.
- *Two aggregators*, where ``from_dask(..., aggregators=(one, other))`` names them, add up one of two additive shares
  modulo 2**64 each: either alone sees uniform integers, whatever the records are. The curator then learns totals alone,
  and nothing of any worker but how many records it holds. The two must not meet: run them under different operators.
  Shares travel from worker to worker, past the scheduler.

Guarantees and certificates are those of the records in one memory: they are about what leaves the curator. A worker
that answers wrong sums can spoil a model: they are checked to be no larger than so many records can make them, and
nothing more can be known of them.

**Cost.** A pass of a gradient over p columns sends six to ten bytes for each moving column to every worker, and gets
eight for each column back from each; steps of Frank-Wolfe move few columns. With 10**6 columns and 100 workers that is
at most a gigabyte there and 0.8 back, a second or two of one card of 10 Gbit/s. Dense, 10**9 such records are 20 TB of
integers on each worker: reading those is what a pass takes. ``python benches/shards.py`` measures the constants, beside
a pass in one memory in the same run, and puts them into this model.
"""

from dpsparse.distributed._dask import from_dask
from dpsparse.distributed._shards import Shards
from dpsparse.distributed._spark import from_spark

__all__ = ["Shards", "from_dask", "from_spark"]
