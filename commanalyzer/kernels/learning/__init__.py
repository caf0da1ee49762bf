"""Speed-up curves of unseen kernels and applications, learned from measured runs of other kernels.

In: a table of runs (features of a kernel, devices, speed-up). Out: a trained model whose arrays are its own,
its errors on kernels that it had not seen, predicted curves with an uncertainty, and what the features tell.
Only :mod:`commanalyzer.kernels.learning.training` and :mod:`commanalyzer.kernels.learning.training` use
scikit-learn: predicting needs numpy alone, and a saved model holds numbers, no code.
"""
