"""The contract of all models, the registry, and one file a model."""
