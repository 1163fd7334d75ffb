"""Invariants that an installed dpsparse keeps: ``pytest --pyargs dpsparse``, in less than a minute.

Dualities of norms and fits, sensitivities, laws of noise, verification of certificates, and a fit of each mechanism.
Nothing but pytest is needed beside the package. Statistical tests draw with fixed seeds, so that they hold or fail for
good; the sources have the long suites.
"""
