"""What a machine is, and what bounds a result on it.

In: TOML files, options, measurements. Out: :class:`~commanalyzer.machine.parameters.MachineParameters` with
unit, source and date of each number; ``roofline/``: the bound of a division (paper Eq. 1 to 5, LogGP);
``simulation/``: its time on a platform. Only these two look at ``communication`` and ``result``.
"""
