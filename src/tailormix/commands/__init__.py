"""The commands of ``tailormix``, one file a family."""
