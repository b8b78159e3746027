"""One person's files in a browser on this computer: check, fit, sheet, forecast, report, next week."""
