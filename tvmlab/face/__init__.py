"""What users call: schedules as objects, verdicts, lower, build."""
