"""A trace to the value communication graph (paper Section 4.2.1).

In: :class:`~commanalyzer.recording.trace.Trace` and the sites of its program. Out:
:class:`~commanalyzer.graph.storage.store.GraphStore`, coded columns that are expanded where somebody looks,
as :class:`~commanalyzer.graph.value_graph.ValueGraph`; hubs, singletons, private temporaries.
Imports ``program`` and ``recording``'s traces; every later room may import it.
"""
