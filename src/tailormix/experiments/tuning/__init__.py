"""Choosing hyper-parameters by the paper's cross-validation: search space, folds, objective, study."""
