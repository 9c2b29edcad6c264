"""Human baselines: ``drawing`` samples questions, ``accuracy`` computes, ``results`` reads answers."""
