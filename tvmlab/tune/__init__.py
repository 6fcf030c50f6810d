"""Finding good schedules by trying: spaces of them, models that guess how fast each is, searches."""
